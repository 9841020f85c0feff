import type { Millis } from '../../model/log-line.ts';
import { createClock } from '../envelopes/clock.ts';
import { type ContainerCounts, createContainerRecords } from '../records/container-records.ts';
import type { RecordLine } from '../records/joiner.ts';
import { kindOfLine } from './log-kind.ts';
import { readSavedText } from './saved-text.ts';

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

export interface SavedLogOptions {
  /** As in `createClock`: klog writes no year. */
  latest: Millis;
  /** `number` is 1-based; `time` undefined where neither the runtime nor the record itself has a stamp. */
  onRecord: (record: RecordLine) => void;
}

export interface SavedLogReader {
  readonly counts: Readonly<ContainerCounts>;
  /** `line`: latin1, without newline. `number` counts from 1. */
  take: (line: string, number: number) => void;
  /** Nothing more comes: hands over what there is. */
  finish: () => void;
}

/**
 * Reads the log of a container as it was saved: a copy of the runtime's file, or what `kubectl logs` printed, which has both
 * streams as one. Nothing is waited for: `onRecord` is called during `take` and `finish`.
 */
export function createSavedLogReader({ latest, onRecord }: SavedLogOptions): SavedLogReader {
  const clock = createClock({ latest });
  return createContainerRecords({
    saved: undefined,
    onRecord,
    readBare: (line) => readSavedText(line, clock),
    timing: { now: () => 0, schedule: () => () => {} },
  });
}
