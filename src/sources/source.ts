import type { LogLine, Millis } from '../model/log-line.ts';
import { steadyNow } from '../platform/clock.ts';
import { type Schedule, schedule } from '../platform/timer.ts';
import type { Origin } from './envelopes/envelope.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A source's position, with which it goes on after a restart. Plain JSON, understood by that kind of source alone. */
export type Position = { readonly [key: string]: Json };

export interface Loss {
  /** The amount; undefined if only the fact is known. */
  count: number | undefined;
  unit: 'records' | 'bytes';
  time: Millis;
  /** Says it to a person: `/dev/kmsg was overwritten before it was read`. */
  reason: string;
}

/** Something a person should know about a source. `key` is equal for notices of one kind, which may come often. */
export interface Notice {
  level: 'info' | 'warn' | 'error';
  key: string;
  text: string;
}

/** The writer of a line, as its envelope says; `container` and `program` write the node's rules, so none of their lines is a packet. */
export type LineOrigin = Origin | 'container' | 'program';

/** Facts about a line, with which others like it are counted. */
export interface Repeat {
  /** Source ports from there on make no other flow of it; Infinity: any other port may. */
  readonly sourcePortsFrom: number;
}

/** Counts lines that repeat an earlier one in everything that says whose the packet is and what became of it. */
export interface Repeats {
  /** The memo of the line that was handed over last; undefined: lines like it are handed over, too. */
  last: () => Repeat | undefined;
  /** Counts one more, logged at `time`. False: it has to be handed over, as what was found out no longer holds. */
  again: (repeat: Repeat, time: Millis) => boolean;
  /** Counts what `again` only added up. The caller of `again` calls this before its turn of the event loop ends. */
  flush: () => void;
}

/** Takes what a source reads. All calls are synchronous; none is made after `stop`. */
export interface SourceListener {
  take: (line: LogLine, origin: LineOrigin) => void;
  /** Undefined: every line is handed over. */
  repeats?: Repeats | undefined;
  lost: (loss: Loss) => void;
  notice: (notice: Notice) => void;
}

/** Hands lines over in order, each once. `waiting`: what is to be read is not there (yet); `failed`: never without help. */
export interface Source {
  /** The same as `LogLine.source`; names the source in the snapshot and in metrics. */
  readonly name: string;
  readonly state: 'waiting' | 'reading' | 'failed' | 'stopped';
  /** After the last line that was handed over. Undefined as long as nothing was ever read. */
  readonly position: Position | undefined;
  /** Physical lines or records read so far, whether or not they were handed over. */
  readonly counts: Readonly<{ lines: number; bytes: number; tooLong: number }>;
  start: () => void;
  stop: () => void;
}

/** The clocks of a source: intervals are measured by `now`, which is steady; `wall` is for stamps, as those of lines and files are. */
export interface Timing {
  now: () => Millis;
  wall: () => Millis;
  schedule: Schedule;
}

export const systemTiming: Timing = { now: steadyNow, wall: Date.now, schedule };

export interface PaceOptions {
  /** The amount that each look should find, in any unit. */
  aim: number;
  shortest: Millis;
  longest: Millis;
}

/** Bounds the pause between looks at a stream of records, because waking for each record costs several times what reading it does. */
export interface Pace {
  /** `amount`: what was found after the last wait. Returns how long to wait now; at most twice as long. */
  next: (amount: number) => Millis;
}

export function createPace({ aim, shortest, longest }: PaceOptions): Pace {
  let wait = shortest;
  return {
    next(amount) {
      wait = Math.min(longest, Math.max(shortest, wait * Math.min(2, aim / amount)));
      return wait;
    },
  };
}
