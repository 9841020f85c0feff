import type { Millis } from '../../model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import { createDelivered } from './delivered.ts';
import { kindOfLine } from './log-kind.ts';
import { decodeText, readRecord } from '../../log-formats/cri.ts';
import { readSavedText } from './saved-text.ts';
import { createStreamRecords, type LogicalLineCounts, type StreamRecords } from './stream-records.ts';
import { createWaitingRecords, newRecord } from './waiting-records.ts';

const headLength = 64 * 1024;

/**
 * Whether this is the beginning (latin1, of which 64 KiB count) of what programs in a container wrote: as a container runtime or
 * `kubectl logs` writes it. A syslog, a journal or the kernel's log is none, and a container's that repeats one of those.
 */
export function isProgramLog(head: string): boolean {
  const counts = { program: 0, container: 0, other: 0 };
  for (const line of head.slice(0, headLength).split('\n')) {
    const kind = kindOfLine(line);
    if (kind !== undefined) counts[kind]++;
  }
  return counts.program > 0 ? counts.program >= counts.other : counts.container > counts.other;
}

/** What a container wrote in one go, however many lines of the saved log that is. */
export interface SavedRecord {
  /** Lines of it are joined by `\n`. */
  text: string;
  /** Undefined where neither the runtime nor the record itself has a stamp. */
  time: Millis | undefined;
  /** 1-based, of its first physical line. */
  number: number;
}

export interface SavedLogOptions {
  /** As in `createClock`: klog writes no year. */
  latest: Millis;
  onLine: (record: SavedRecord) => void;
}

export interface SavedLogReader {
  readonly counts: Readonly<LogicalLineCounts>;
  /** `line`: latin1, without newline. `number` counts from 1. */
  take: (line: string, number: number) => void;
  /** Nothing more comes: hands over what there is. */
  end: () => void;
}

/**
 * Reads the log of a container as it was saved: a copy of the runtime's file, or what `kubectl logs` printed. Lines are joined
 * to records by the rules and within the limits of the source that follows such logs (`createLogicalLines`), but for time:
 * nothing is waited for. `onLine` is called during `take` and `end`, in the order of the records' first lines.
 */
export function createSavedLogReader({ latest, onLine }: SavedLogOptions): SavedLogReader {
  const clock = createClock({ latest });
  const counts = { unreadable: 0, cut: 0, passedOver: 0, dangling: 0, hurried: 0 };
  const waiting = createWaitingRecords();
  const delivered = createDelivered(undefined);
  const streams = { stdout: newStream('stdout'), stderr: newStream('stderr') };
  /** What has no stream: `kubectl logs` prints both as one. */
  const bare = newStream('stdout');
  const all = [streams.stdout, streams.stderr, bare];
  let isOfRuntime = false;

  return {
    counts,
    take(line, number) {
      const place = { file: 0, offset: number };
      const record = readRecord(line);
      isOfRuntime ||= record !== undefined;
      if (record !== undefined) streams[record.stream].take(record, place, number);
      else if (isOfRuntime) {
        counts.unreadable++;
        waiting.push({ ...newRecord(undefined, place, number), text: line, complete: true });
      } else {
        const { time = NaN, text } = readSavedText(line, clock);
        bare.take({ time, stream: 'stdout', partial: false, text }, place, number);
      }
      deliver();
    },
    end() {
      for (const stream of all) stream.finish();
      deliver();
    },
  };

  function newStream(name: 'stdout' | 'stderr'): StreamRecords {
    return createStreamRecords({ name, saved: undefined, waiting, delivered, counts });
  }

  function deliver(): void {
    for (let record = waiting.next(); record !== undefined; record = waiting.next()) {
      if (!record.complete) {
        counts.hurried++;
        for (const stream of all) stream.hurry(record);
      }
      record.delivered = true;
      const { time, text, number } = record;
      onLine({ text: decodeText(text), time: Number.isNaN(time) ? undefined : time, number });
    }
    if (waiting.size === 0) delivered.forget();
  }
}
