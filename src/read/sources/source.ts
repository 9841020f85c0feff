import type { LogLine, Millis } from '../../base/model/log-line.ts';
import { steadyNow } from '../../base/platform/clock.ts';
import { type Schedule, schedule } from '../../base/platform/timer.ts';
import type { Origin } from './envelopes/envelope.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Where a source continues after a restart. It is plain JSON that only this kind of source understands. */
export type Position = { readonly [key: string]: JsonValue };

export interface Loss {
  count: number | undefined;
  unit: 'records' | 'bytes';
  /** The only lines that may be missing; by default any. */
  of?: 'connections';
  time: Millis;
  /** The time since which records may be missing, if it is long before `time`. */
  since?: Millis | undefined;
  reason: string;
}

/** Information about a source for a person. Notices of one kind may come often, and have the same `key`. */
export interface Notice {
  level: 'info' | 'warn' | 'error';
  key: string;
  /** The file that the notice is about, if the source has several. */
  of?: string;
  text: string;
}

/** A `program` is a component such as kube-proxy, which reports no packets. Of `container` lines, only those of packet loggers do. */
export type LineOrigin = Origin | 'container' | 'program';

export interface Repeat {
  /** Source ports from this one on belong to the same flow. Infinity: each source port is another flow. */
  readonly sourcePortsFrom: number;
}

/** Counts lines that repeat an earlier line: the same endpoints, rule and verdict. */
export interface Repeats {
  /** Describes repeats of the last line that was handed over; undefined if repeats of it must be handed over, too. */
  last: () => Repeat | undefined;
  /** Counts one more line, logged at `time`. Returns false if the line must be handed over, because the memo is no longer valid. */
  again: (repeat: Repeat, time: Millis) => boolean;
  /** Applies the counts that `again` has collected. Call it before the turn of the event loop ends. */
  flush: () => void;
}

/** Receives what a source reads. All calls are synchronous, and none comes after `stop`. */
export interface SourceListener {
  take: (line: LogLine, origin: LineOrigin) => void;
  repeats?: Repeats | undefined;
  lost: (loss: Loss) => void;
  notice: (notice: Notice) => void;
}

/** Hands over lines in order (of a container: by stream), each once. `waiting`: there is nothing to read yet; `failed`: a person has to help. */
export interface Source {
  /** The same as `LogLine.source`. It names the source in the state and in metrics. */
  readonly name: string;
  readonly state: 'waiting' | 'reading' | 'failed' | 'stopped';
  /** The position after the last line that was handed over; undefined until something was read. */
  readonly position: Position | undefined;
  /** Physical lines or records that were read, including those that were not handed over. */
  readonly counts: Readonly<{ lines: number; bytes: number; tooLong: number }>;
  /** Packets that the kernel has dropped in all network namespaces, by its reason, including those without a line. */
  readonly dropReasons?: () => ReadonlyMap<string, number>;
  start: () => void;
  stop: () => void;
}

/** The clocks of a source. `now` is steady and measures intervals; `wall` is for stamps of lines and files. */
export interface Timing {
  now: () => Millis;
  wall: () => Millis;
  schedule: Schedule;
}

export const systemTiming: Timing = { now: steadyNow, wall: Date.now, schedule };

interface PaceOptions {
  aim: number;
  shortest: Millis;
  longest: Millis;
}

export interface Pace {
  /** Returns the next pause, at most twice the last one. `amount`: how much was found after the last pause. */
  next(amount: number): Millis;
}

/** Chooses the pause between two reads of a stream of records, because waking for each record costs several times as much as reading it. */
export function createPace({ aim, shortest, longest }: PaceOptions): Pace {
  let wait = shortest;
  return {
    next(amount: number): Millis {
      wait = Math.min(longest, Math.max(shortest, wait * Math.min(2, aim / amount)));
      return wait;
    },
  };
}
