import { programNeedles } from '../../explain/incidents/incidents.ts';
import { needlesOfAll, spellingsOf, unreadNeedles } from '../../read/parsing/parsing.ts';
import {
  blockNeedles,
  type ClockOptions,
  createDocumentReader,
  createLineStarts,
  createRepeatedLines,
  createSavedLogReader,
  createScanner,
  type DocumentReader,
  documentKind,
  fatalNeedles,
  type Input,
  isProgramLog,
  readEnvelope,
  streamFieldsOf,
  streamMark,
} from '../../read/sources/reading.ts';
import { createProgress } from './progress.ts';
import { createLineTaker } from './line-taker.ts';
import type { LogTarget } from './log-target.ts';

const savedObjects = /^\s*\{\s*"(?:apiVersion|items|kind)"/;
const needles = [
  ...spellingsOf([...needlesOfAll, ...fatalNeedles, streamMark, ...programNeedles]),
  // These are inside texts, and are found however JSON escapes the text around them.
  ...blockNeedles,
  ...unreadNeedles,
];
/** The number of bytes that decide the kind of a log: its first lines. */
const headLength = 64 * 1024;

/** Rejects with an `InputError` if the log cannot be read. */
export async function readLog(input: Input, clock: ClockOptions, target: LogTarget): Promise<void> {
  const { totals, streams, options } = target;
  let reader: Reader | undefined;
  let head: Buffer = Buffer.alloc(0);
  const progress = createProgress(input.name, options.quiet ? undefined : streams.terminal);
  const write = (block: Buffer): void => {
    reader ??= openReader(block);
    reader.write(block);
  };
  const openReader = (block: Buffer): Reader => {
    if (block.includes(0)) streams.err(`${input.name}: looks binary; only lines of text in it are read\n`);
    const beginning = block.toString('latin1', 0, headLength);
    if (savedObjects.test(beginning))
      streams.err(`${input.name}: looks like saved objects; they are given by --pods\n`);
    return createReader(input.name, beginning, clock, target);
  };
  try {
    await input.read((block) => {
      progress.step(block.length);
      if (reader !== undefined || head.length + block.length >= headLength) {
        write(head.length > 0 ? Buffer.concat([head, block]) : block);
        head = Buffer.alloc(0);
      } else head = Buffer.concat([head, block]);
    });
  } finally {
    if (head.length > 0) write(head);
    const problem = reader?.end();
    if (reader !== undefined) {
      target.pipeline.repeats?.flush();
      totals.lines += reader.counts.lines;
      totals.bytes += reader.counts.bytes;
    }
    progress.done();
    if (problem !== undefined) target.problem(`${input.name}: ${problem}`);
  }
}

type Reader = DocumentReader;

function createReader(source: string, head: string, clockOptions: ClockOptions, target: LogTarget): Reader {
  const { pipeline, totals, streams } = target;
  const taker = createLineTaker(source, clockOptions, target);
  if (taker.isOfContainer) return programReader();
  const kind = documentKind(head);
  if (kind !== undefined) return documentReader();
  return isProgramLog(head) ? programReader() : lineReader();

  /** Reads a log to which any program may have written. Each line is a record, or a line of one. */
  function lineReader(): Reader {
    const repeated =
      pipeline.repeats &&
      createRepeatedLines({
        ...pipeline.repeats,
        timeOf: (stamp) => readEnvelope(stamp, taker.clock).time,
        onTaken: taker.setTime,
      });
    const begins = createBeginnings();
    const take = (text: string, number: number, cut: boolean): void => {
      if (!begins(text)) return;
      const line = taker.takeLine(text, number, cut);
      if (!cut && line !== undefined) repeated?.learn(line);
    };
    const lines = { take, tooLong, takeBytes: repeated?.take, isOpen: taker.isOpen };
    const scanner = createScanner({ needles, lines });
    return {
      counts: scanner.counts,
      write: (block) => scanner.write(block),
      end() {
        scanner.end();
        taker.finish();
        return undefined;
      },
    };
  }

  function documentReader(): Reader {
    const begins = createBeginnings();
    const take = (text: string, number: number): void => void (begins(text) && taker.takeLine(text, number, false));
    const reader = createDocumentReader({
      kind: kind as NonNullable<typeof kind>,
      head,
      needles,
      isOpen: taker.isOpen,
      take,
      tooLong,
    });
    return {
      counts: reader.counts,
      write: reader.write,
      end() {
        const problem = reader.end();
        taker.finish();
        return problem;
      },
    };
  }

  /** Reads the log of one program, whose records may have many lines. */
  function programReader(): Reader {
    const { take, finish } = createSavedLogReader({
      latest: clockOptions.latest,
      onRecord: ({ text, time, number }) => taker.takeRecord(text, number, time),
    });
    const scanner = createScanner({ needles: undefined, lines: { take, tooLong } });
    return {
      counts: scanner.counts,
      write: (block) => scanner.write(block),
      end() {
        scanner.end();
        finish();
        return undefined;
      },
    };
  }

  function tooLong(number: number): void {
    if (totals.tooLong++ === 0) streams.err(`${source}:${number}: a line of more than 64 KiB was skipped\n`);
  }
}

/** A saved log may be a part of a journal, so the first record of a stream counts as the beginning of a line. */
function createBeginnings(): (text: string) => boolean {
  const starts = createLineStarts(undefined, true);
  return (text) => starts.take(streamFieldsOf(text));
}
