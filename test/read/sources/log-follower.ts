import { createFollowFile } from '../../../src/read/sources/tail/follow-file.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import type { FakeTime } from './fake-time.ts';
import { type Heard, listening } from './heard.ts';
import { type Contents, createContents } from './tail/at-once.ts';
import { wholeLine } from './log-writer.ts';

/** Follows the log of a `Writer` with one source after the other. Each gets the position of the one before. */
export interface Follower {
  heard: Heard;
  /**
   * The numbers of the whole lines that were taken: those up to the position from which the present source began, and
   * those since.
   */
  readonly seen: readonly number[];
  /** The counts of all sources; each counts up to where the next one began. */
  readonly counts: { lines: number; tooLong: number };
  /** How often a position was saved. */
  readonly keeps: number;
  notify: (isMoved: boolean) => void;
  start: () => void;
  /** Saves the state, at once or after this many more lines. */
  save: (after: number) => void;
  /** Stops at once or, if that is soon, when this many more lines have been handed over; keeps everything. */
  stop: (after: number) => void;
  /** Forgets the lines since the last saved state. */
  kill: () => void;
}

export interface FollowerOptions {
  path: string;
  time: FakeTime;
  /** `notified`: the kernel reports changes; `deaf`: it should, but does not. */
  changesAre: 'notified' | 'deaf' | 'polled';
  /** Blocks arrive some time after they were requested. */
  isDelayed: boolean;
  blockSize: number;
}

const soon = 200;

export function createFollower({ path, time, changesAre, isDelayed, blockSize }: FollowerOptions): Follower {
  let kept: { position: Position | undefined; seen: number[]; counts: Follower['counts'] } = {
    position: undefined,
    seen: [],
    counts: { lines: 0, tooLong: 0 },
  };
  let seen: number[] = [];
  /** The counts when the present source began. */
  let begun = kept.counts;
  let source: Source | undefined;
  let contents: Contents | undefined;
  let [untilStop, untilSave] = [0, 0];
  let keeps = 0;
  const { heard, listener } = listening(() => {
    const [, number] = wholeLine.exec(heard.lines.at(-1)?.text ?? '') ?? [];
    if (number !== undefined) seen.push(Number(number));
    if (--untilSave === 0) keep();
    if (--untilStop === 0) source?.stop();
  });

  return {
    heard,
    get seen() {
      return seen;
    },
    get counts() {
      return countsNow();
    },
    get keeps() {
      return keeps;
    },
    notify(isMoved) {
      if (changesAre === 'notified') contents?.notify(isMoved);
    },
    start() {
      untilStop = untilSave = 0;
      seen = [...kept.seen];
      begun = kept.counts;
      contents = createContents({
        isWatched: changesAre !== 'polled',
        blockSize,
        ...(isDelayed ? { schedule: time.schedule } : {}),
      });
      source = createFollowFile({
        path,
        needles: ['IN='],
        saved: kept.position,
        from: 'start',
        listener,
        timing: time,
        openContent: contents.open,
      });
      source.start();
      keep();
    },
    save(after) {
      if (after === 0) keep();
      untilSave = after;
    },
    stop(after) {
      untilStop = after;
      if (after > 0) time.advance(soon);
      source?.stop();
      keep();
    },
    kill() {
      source?.stop();
      seen = [...kept.seen];
    },
  };

  function countsNow(): Follower['counts'] {
    const { lines = 0, tooLong = 0 } = source?.counts ?? {};
    return { lines: begun.lines + lines, tooLong: begun.tooLong + tooLong };
  }

  function keep(): void {
    keeps++;
    const position = source?.position && (JSON.parse(JSON.stringify(source.position)) as Position);
    kept = { position, seen: [...seen], counts: countsNow() };
  }
}
