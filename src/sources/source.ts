import type { LogLine, Millis } from '../model/log-line.ts';
import { steadyNow } from '../platform/clock.ts';
import { type Schedule, schedule } from '../platform/timer.ts';
import type { Origin } from './envelopes/envelope.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** What a source needs to go on where it stopped. Plain JSON, understood by that kind of source alone. */
export type Position = { readonly [key: string]: Json };

export interface Loss {
  /** How much; undefined when only the fact is known. */
  count: number | undefined;
  unit: 'records' | 'bytes';
  time: Millis;
  /** For a person: `/dev/kmsg was overwritten before it was read`. */
  reason: string;
}

/** Something a person should know about a source. `key` is equal for notices of one kind, which may come often. */
export interface Notice {
  level: 'info' | 'warn' | 'error';
  key: string;
  text: string;
}

/** Who wrote a line: as its envelope says, or `container`, or `program`: who writes the node's rules, so no line is a packet. */
export type LineOrigin = Origin | 'container' | 'program';

/** What was found out about a line, to count others like it. */
export interface Repeat {
  /** Source ports from there on make no other flow of it; Infinity: any other port may. */
  readonly sourcePortsFrom: number;
}

/** How lines are counted that repeat an earlier one in all that says whose the packet is and what became of it. */
export interface Repeats {
  /** Of the line that was handed over last; undefined: lines like it have to be handed over, too. */
  last: () => Repeat | undefined;
  /** Counts one more, logged at `time`. False: it has to be handed over, as what was found out no longer holds. */
  again: (repeat: Repeat, time: Millis) => boolean;
  /** Whoever has called `again` calls this before its turn of the event loop ends: it counts what was only added up. */
  flush: () => void;
}

/** Who is called by a source. All calls are synchronous; none is made after `stop`. */
export interface SourceListener {
  onLine: (line: LogLine, origin: LineOrigin) => void;
  /** Undefined: every line is handed over. */
  repeats?: Repeats | undefined;
  onLost: (loss: Loss) => void;
  onNotice: (notice: Notice) => void;
}

/** Hands lines over in order, each once. `waiting`: what is to be read is not there (yet); `failed`: never without help. */
export interface Source {
  /** As in `LogLine.source`; names the source in the snapshot and in metrics. */
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
