import { createFollowFile } from '../../src/sources/follow-file.ts';
import type { Position, Source } from '../../src/sources/source.ts';
import { type FakeTime, fakeTime } from './fake-time.ts';
import { type Heard, listening } from './heard.ts';
import { openAtOnce } from './files/at-once.ts';
import { wholeLine } from './log-writer.ts';

/** Follows what a `Writer` writes, by one source after the other, each with the position of the one before. */
export interface Follower {
  time: FakeTime;
  heard: Heard;
  /** Numbers of the whole lines so far. */
  seen: readonly number[];
  /** Of all sources. */
  counts: { lines: number; tooLong: number };
  /** Of the file that the position is in. */
  readonly inode: string | undefined;
  start: () => void;
  /** At once, or when so many more lines have been handed over, if that is soon. */
  stop: (after?: number) => void;
}

const soon = 200;

export function createFollower(path: string): Follower {
  const time = fakeTime(Date.UTC(2026, 10, 21, 12));
  const seen: number[] = [];
  const counts = { lines: 0, tooLong: 0 };
  let source: Source | undefined;
  let position: Position | undefined;
  let linesLeft = Infinity;
  const { heard, listener } = listening(() => {
    const [, number] = wholeLine.exec(heard.lines.at(-1)?.text ?? '') ?? [];
    if (number !== undefined) seen.push(Number(number));
    if (--linesLeft === 0) source?.stop();
  });

  return {
    time,
    heard,
    seen,
    counts,
    get inode() {
      return position?.['inode'] as string | undefined;
    },
    start() {
      linesLeft = Infinity;
      source = createFollowFile({
        path,
        needles: ['IN='],
        saved: position,
        from: 'start',
        listener,
        now: time.now,
        openContent: openAtOnce,
        schedule: time.schedule,
      });
      source.start();
    },
    stop(after = 0) {
      if (source === undefined) return;
      linesLeft = after;
      if (after > 0) time.advance(soon);
      source.stop();
      position = source.position && (JSON.parse(JSON.stringify(source.position)) as Position);
      counts.lines += source.counts.lines;
      counts.tooLong += source.counts.tooLong;
    },
  };
}
