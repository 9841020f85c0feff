import type { LogLine, Millis } from '../model/log-line.ts';
import { steadyNow } from '../platform/clock.ts';
import { type Schedule, schedule } from '../platform/timer.ts';
import type { Origin } from './envelopes/envelope.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Where a source goes on after a restart: plain JSON that this kind of source alone understands. */
export type Position = { readonly [key: string]: Json };

export interface Loss {
  /** Undefined if it is not known how many. */
  count: number | undefined;
  unit: 'records' | 'bytes';
  time: Millis;
  reason: string;
}

/** What a person should know about a source. Notices of one kind may come often, and have the same `key`. */
export interface Notice {
  level: 'info' | 'warn' | 'error';
  key: string;
  text: string;
}

/** The writer of a line. A `container` or `program` writes the node's rules, so that none of its lines is a packet. */
export type LineOrigin = Origin | 'container' | 'program';

export interface Repeat {
  /** Source ports from there on make no other flow of it; Infinity: any other port makes one. */
  readonly sourcePortsFrom: number;
}

/** Counts lines that repeat an earlier one: the same ends, rule and verdict. */
export interface Repeats {
  /** Of the line that was handed over last; undefined: lines like it are to be handed over, too. */
  last: () => Repeat | undefined;
  /** Counts one more, logged at `time`. False: it has to be handed over, because what was known no longer holds. */
  again: (repeat: Repeat, time: Millis) => boolean;
  /** Counts what `again` only added up. To be called before the turn of the event loop ends. */
  flush: () => void;
}

/** Receives what a source reads. All calls are synchronous, and there are none after `stop`. */
export interface SourceListener {
  take: (line: LogLine, origin: LineOrigin) => void;
  repeats?: Repeats | undefined;
  lost: (loss: Loss) => void;
  notice: (notice: Notice) => void;
}

/** Hands lines over in order, each once. `waiting`: there is nothing to read yet; `failed`: somebody has to help. */
export interface Source {
  /** The same as `LogLine.source`; names the source in the snapshot and in metrics. */
  readonly name: string;
  readonly state: 'waiting' | 'reading' | 'failed' | 'stopped';
  /** After the last line that was handed over. Undefined as long as nothing was ever read. */
  readonly position: Position | undefined;
  /** Physical lines or records that were read, whether or not they were handed over. */
  readonly counts: Readonly<{ lines: number; bytes: number; tooLong: number }>;
  start: () => void;
  stop: () => void;
}

/** The clocks of a source: `now` is steady and measures intervals; `wall` is for stamps of lines and files. */
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

/** Chooses the pause between looks at a stream of records, because waking for each record costs several times what reading it does. */
export function createPace({ aim, shortest, longest }: PaceOptions) {
  let wait = shortest;
  return {
    /** `amount`: what was found after the last wait. The next one is at most twice as long. */
    next(amount: number): Millis {
      wait = Math.min(longest, Math.max(shortest, wait * Math.min(2, aim / amount)));
      return wait;
    },
  };
}
