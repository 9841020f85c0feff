import type { Millis } from '../../model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import { type ContainerCounts, createContainerRecords } from '../records/container-records.ts';
import type { RecordLine } from '../records/joiner.ts';
import { kindOfLine } from './log-kind.ts';
import { readSavedText } from './saved-text.ts';

const headLength = 64 * 1024;

/** Whether this beginning (latin1, 64 KiB count) is of a container's log or `kubectl logs`: no syslog, journal or kernel log. */
export function isProgramLog(head: string): boolean {
  const counts = { program: 0, container: 0, other: 0 };
  for (const line of head.slice(0, headLength).split('\n')) {
    const kind = kindOfLine(line);
    if (kind !== undefined) counts[kind]++;
  }
  return counts.program > 0 ? counts.program >= counts.other : counts.container > counts.other;
}

export interface SavedLogOptions {
  /** The same as in `createClock`, because klog writes no year. */
  latest: Millis;
  /** `number` is 1-based; `time` undefined if neither the runtime nor the record itself has a stamp. */
  onRecord: (record: RecordLine) => void;
}

export interface SavedLogReader {
  readonly counts: Readonly<ContainerCounts>;
  /** `line`: latin1, without newline. `number` counts from 1. */
  take: (line: string, number: number) => void;
  finish: () => void;
}

/** Reads a copy of the runtime's file, or `kubectl logs` (both streams as one). `onRecord` is called in `take` and `finish`. */
export function createSavedLogReader({ latest, onRecord }: SavedLogOptions): SavedLogReader {
  const clock = createClock({ latest });
  return createContainerRecords({
    saved: undefined,
    onRecord,
    readBare: (line) => readSavedText(line, clock),
    timing: { now: () => 0, schedule: () => () => {} },
  });
}
