import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { programNeedles } from '../../incidents/incidents.ts';
import { containerOf } from '../../log-formats/container-log.ts';
import type { LogContainer, LogLine, Millis } from '../../model/log-line.ts';
import { needlesOfAll, parseDroppedLogs, parseNfqueue, parseProgramRecord } from '../../parsing/parsing.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { copy } from '../../platform/address.ts';
import { printable } from '../../platform/printable.ts';
import { shorten } from '../../resolving/resolving.ts';
import {
  type ClockOptions,
  createClock,
  createLineStarts,
  createRepeatedLines,
  createSavedLogReader,
  createScanner,
  type Envelope,
  fatalNeedles,
  type Input,
  isProgramLog,
  readEnvelope,
  type Scanner,
  streamFieldsOf,
  streamMark,
  withoutHalfValue,
} from '../../sources/reading.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { Streams } from '../terminal.ts';

export type ReadTotals = ReturnType<typeof createReadTotals>;

export function createReadTotals() {
  /** `earlier`: lines that `--since` leaves out. `hosts`: host names in the lines, against which `--node` is checked. */
  return { files: 0, lines: 0, earlier: 0, bytes: 0, tooLong: 0, guessedTimes: 0, hosts: new Set<string>() };
}

export interface LogTarget {
  pipeline: Pick<Pipeline, 'take' | 'repeats'>;
  totals: ReadTotals;
  streams: Pick<Streams, 'err' | 'terminal'>;
  options: Pick<ReplayOptions, 'quiet' | 'node'>;
}

const savedObjects = /^\s*\{\s*"(?:apiVersion|items|kind)"/;
/** The most host names that are kept, so that no log can fill the memory. The last place is for that of `--node`. */
const maxHosts = 256;
const needles = [...needlesOfAll, ...programNeedles, ...fatalNeedles, streamMark];

/** Rejects with an `InputError` if the log cannot be read. */
export async function readLog(input: Input, clock: ClockOptions, target: LogTarget): Promise<void> {
  const { totals, streams, options } = target;
  let reader: Reader | undefined;
  const progress = createProgress(input.name, options.quiet ? undefined : streams.terminal);
  try {
    await input.read((block) => {
      if (reader === undefined) {
        if (block.includes(0)) streams.err(`${input.name}: looks binary; only lines of text in it are read\n`);
        const beginning = block.toString('latin1');
        if (savedObjects.test(beginning))
          streams.err(`${input.name}: looks like saved objects; they are given by --pods\n`);
        reader = createReader(input.name, isProgramLog(beginning), clock, target);
      }
      reader.scanner.write(block);
      progress.step(block.length);
    });
  } finally {
    if (reader !== undefined) {
      reader.scanner.end();
      reader.finish();
      target.pipeline.repeats?.flush();
      totals.lines += reader.scanner.counts.lines;
      totals.bytes += reader.scanner.counts.bytes;
    }
    progress.done();
  }
}

interface Reader {
  scanner: Scanner;
  finish: () => void;
}

function createReader(source: string, isProgram: boolean, clockOptions: ClockOptions, target: LogTarget): Reader {
  const { pipeline, totals, streams, options } = target;
  const clock = createClock(clockOptions);
  const container = containerOfLog(source);
  const isContainerLog = container !== undefined;
  const node = options.node && shorten(options.node.toLowerCase());
  /** A record without a time gets the time of the record before it. */
  let lastTime = clockOptions.latest;
  return isProgram ? programReader() : lineReader();

  /** Reads a log to which any program may have written. Each line is a record. */
  function lineReader(): Reader {
    // A saved log may be a part of a journal, so the first record of a stream counts as the beginning of a line.
    const starts = createLineStarts(undefined, true);
    const repeated =
      pipeline.repeats &&
      createRepeatedLines({
        ...pipeline.repeats,
        timeOf: (stamp) => readEnvelope(stamp, clock).time,
        onTaken: (time) => (lastTime = time),
      });
    const take = (text: string, number: number, cut: boolean): void => {
      if (!starts.take(streamFieldsOf(text))) return;
      const envelope = readEnvelope(text, clock);
      if (cut) envelope.text = withoutHalfValue(envelope.text);
      if (envelope.time === undefined || !envelope.timeIsExact) totals.guessedTimes++;
      const line = takeEnvelope(envelope, number, undefined);
      if (!cut) repeated?.learn(line);
    };
    return {
      scanner: createScanner({ needles, lines: { take, tooLong, takeBytes: repeated?.take } }),
      finish: () => {},
    };
  }

  /** Reads the log of one program, whose records may have many lines. */
  function programReader(): Reader {
    let writesPackets = false;
    const { take, finish } = createSavedLogReader({
      latest: clockOptions.latest,
      onRecord({ text, time, number }) {
        // The record may be a kernel line that another program in the container passes on.
        if ((parseDroppedLogs(text, undefined) ?? parseProgramRecord(text)) === undefined) {
          takeEnvelope(readEnvelope(text, clock), number, time);
          return;
        }
        lastTime = time ?? lastTime;
        if (time === undefined) totals.guessedTimes++;
        const timeIsExact = time !== undefined;
        const line = { source, line: number, text, time: lastTime, timeIsExact, host: undefined, container };
        // A saved log does not name its writer. If it has packets in the format of NFQUEUE, the writer is not kube-proxy: ignore its other lines.
        const isPacket = !isContainerLog && parseNfqueue(text) !== undefined;
        writesPackets ||= isPacket;
        if (writesPackets && !isPacket && !isContainerLog) return;
        pipeline.take(line, isContainerLog ? 'container' : isPacket ? 'unknown' : 'userspace');
      },
    });
    return { scanner: createScanner({ needles: undefined, lines: { take, tooLong } }), finish };
  }

  /** `stamped`: the time stamp of the container runtime; undefined if there is none. */
  function takeEnvelope(envelope: Envelope, number: number, stamped: Millis | undefined): LogLine {
    const { text, time, host, program, origin } = envelope;
    const writer = container ?? envelope.container;
    lastTime = stamped ?? time ?? lastTime;
    if (host !== undefined && node !== undefined && !totals.hosts.has(host)) {
      const isNode = shorten(host.toLowerCase()) === node;
      if (totals.hosts.size < (isNode ? maxHosts : maxHosts - 1)) totals.hosts.add(copy(host));
    }
    const timeIsExact = stamped !== undefined || (time !== undefined && envelope.timeIsExact);
    const line = { source, line: number, text, time: lastTime, timeIsExact, host, program, container: writer };
    pipeline.take(line, isContainerLog ? 'container' : origin);
    return line;
  }

  function tooLong(number: number): void {
    if (totals.tooLong++ === 0) streams.err(`${source}:${number}: a line of more than 64 KiB was skipped\n`);
  }
}

/** Returns the container of a log below /var/log/pods, however the log is named: by a relative path, or by a link. */
function containerOfLog(source: string): LogContainer | undefined {
  if (source === '-') return undefined;
  try {
    return containerOf(source) ?? containerOf(resolve(source)) ?? containerOf(realpathSync(source));
  } catch {
    return undefined;
  }
}

function createProgress(name: string, terminal: NodeJS.WriteStream | undefined) {
  const interval = 16 * 1024 * 1024;
  let bytes = 0;
  return {
    step(length: number): void {
      const before = Math.floor(bytes / interval);
      bytes += length;
      if (Math.floor(bytes / interval) > before)
        terminal?.write(`\r${printable(name)}: ${Math.floor(bytes / 2 ** 20)} MiB read\x1b[K`);
    },
    done: (): void => void (bytes >= interval && terminal?.write('\r\x1b[K')),
  };
}
