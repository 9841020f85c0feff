import { copy } from '../../platform/address.ts';
import { createProgress } from './progress.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { RunTotals } from './summary.ts';
import type { Millis } from '../../model/log-line.ts';
import { needlesOfAll } from '../../parsing/formats.ts';
import { programNeedles } from '../../incidents/catalogue/needles.ts';
import { parseDroppedLogs } from '../../parsing/components/dropped-logs.ts';
import { parseProgramRecord } from '../../parsing/components/program-record.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Streams } from '../streams.ts';
import { type ClockOptions, createClock } from '../../sources/envelopes/clock.ts';
import { fatalNeedles } from '../../sources/records/record-kinds.ts';
import { containerOf } from '../../log-formats/container-path.ts';
import { createSavedLogReader, isProgramLog } from '../../sources/kubelet/saved-log.ts';
import { readEnvelope } from '../../sources/envelopes/read-envelope.ts';
import type { Envelope } from '../../sources/envelopes/envelope.ts';
import { withoutHalfValue } from '../../sources/framing/half-value.ts';
import type { Input } from '../../sources/framing/input.ts';
import { createLineStarts, streamMark } from '../../sources/journald/line-starts.ts';
import { createScanner, type Scanner } from '../../sources/framing/scanner.ts';

/** How the output of `kubectl get -o json` begins. */
const savedObjects = /^\s*\{\s*"(?:apiVersion|items|kind)"/;
/** So that no log can fill the memory with them. */
const maxHosts = 256;
const needles = [...needlesOfAll, ...programNeedles, ...fatalNeedles];

/** Reads one saved log, of whatever kind, into the pipeline. Rejects with an `InputError`. */
export async function readLog(
  input: Input,
  clockOptions: ClockOptions,
  pipeline: Pipeline,
  totals: RunTotals,
  streams: Streams,
  options: ReplayOptions,
): Promise<void> {
  const clock = createClock(clockOptions);
  // The path of a container's log names its Pod.
  const isContainerLog = containerOf(input.name) !== undefined;
  // What was saved may be the middle of a journal, of which whoever has saved it has seen more.
  const starts = createLineStarts(undefined, true);
  let lastTime = clockOptions.latest;
  let reader: Reader | undefined;
  const progress = createProgress(
    input,
    streams.terminal ?? process.stderr,
    !options.quiet && streams.terminal !== undefined,
  );
  try {
    await input.read((block) => {
      if (reader === undefined) {
        if (block.includes(0)) streams.err(`${input.name}: looks binary; only lines of text in it are read\n`);
        const head = block.toString('latin1');
        if (savedObjects.test(head)) streams.err(`${input.name}: looks like saved objects; they are given by --pods\n`);
        reader = isProgramLog(head) ? programReader() : lineReader();
      }
      reader.scanner.write(block);
      progress.step();
    });
  } finally {
    if (reader !== undefined) {
      reader.scanner.end();
      reader.end();
      totals.lines += reader.scanner.counts.lines;
      totals.bytes += reader.scanner.counts.bytes;
    }
    progress.done();
  }

  /** A log in which any program may have written, one line a record. */
  function lineReader(): Reader {
    const scanner = createScanner({ needles: [...needles, streamMark], onLine: takeLine, onTooLong });
    return { scanner, end: () => {} };
  }

  /** The log of a container: its records may have many lines, and every line may begin or end one. */
  function programReader(): Reader {
    const saved = createSavedLogReader({
      latest: clockOptions.latest,
      onRecord({ text, time, number }) {
        // Something else in a container may pass on lines of the kernel.
        if ((parseDroppedLogs(text, undefined) ?? parseProgramRecord(text)) === undefined)
          return pass(readEnvelope(text, clock), number, time);
        lastTime = time ?? lastTime;
        if (time === undefined) totals.guessedTimes++;
        const line = { source: input.name, line: number, text, time: lastTime, timeIsExact: time !== undefined };
        pipeline.take({ ...line, host: undefined }, 'userspace');
      },
    });
    const scanner = createScanner({ needles: undefined, onLine: saved.take, onTooLong });
    return { scanner, end: saved.finish };
  }

  function takeLine(text: string, number: number, cut: boolean): void {
    if (!starts.take(text)) return;
    const envelope = readEnvelope(text, clock);
    if (cut) envelope.text = withoutHalfValue(envelope.text);
    if (envelope.time === undefined || !envelope.timeIsExact) totals.guessedTimes++;
    pass(envelope, number, undefined);
  }

  /** `stamped`: when the runtime has read it. */
  function pass(
    { text, time, timeIsExact, host, program, origin }: Envelope,
    number: number,
    stamped: Millis | undefined,
  ): void {
    lastTime = stamped ?? time ?? lastTime;
    if (host !== undefined && options.node !== undefined && totals.hosts.size < maxHosts && !totals.hosts.has(host))
      totals.hosts.add(copy(host));
    const isExact = stamped !== undefined || (time !== undefined && timeIsExact);
    const line = { source: input.name, line: number, text, time: lastTime, timeIsExact: isExact, host, program };
    pipeline.take(line, isContainerLog ? 'container' : origin);
  }

  function onTooLong(number: number): void {
    if (totals.tooLong++ === 0) streams.err(`${input.name}:${number}: a line of more than 64 KiB was skipped\n`);
  }
}

interface Reader {
  scanner: Scanner;
  end: () => void;
}
