import type { Millis } from '../../model/log-line.ts';
import { createTimer } from '../../platform/timer.ts';
import type { Timing } from '../source.ts';
import type { LogFile } from './log-file.ts';
import { isDeleted } from './open-log.ts';
import type { ReadingOrder } from './reading-order.ts';

export interface ReplacementLooks {
  /** A file was renamed or deleted: another one takes its place about now. */
  begin: () => void;
  /** Begins if the newest file was deleted: as long as it is held open, the kernel reports that as any other change. */
  beginIfDeleted: () => void;
  cancel: () => void;
}

/** Between looks; a writer may take so many of them to replace a file. */
const interval: Millis = 10;
const maxLooks = 100;

export function createReplacementLooks(
  order: ReadingOrder,
  { now, schedule }: Timing,
  look: () => void,
): ReplacementLooks {
  const timer = createTimer(schedule, now, next);
  let looks = 0;
  let lastDeleted: LogFile | undefined;
  let isCancelled = false;

  return {
    begin,
    beginIfDeleted() {
      const newest = order.all.at(-1);
      if (newest === undefined || newest === lastDeleted || !isDeleted(newest.log)) return;
      lastDeleted = newest;
      begin();
    },
    cancel() {
      isCancelled = true;
      timer.cancel();
    },
  };

  function begin(): void {
    looks = 0;
    timer.setEarliest(0);
  }

  function next(): void {
    const known = order.all.length;
    look();
    if (!isCancelled && order.all.length === known && ++looks < maxLooks) timer.set(interval);
  }
}
