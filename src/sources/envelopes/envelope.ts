import type { Millis } from '../../model/log-line.ts';

/** Only the kernel may claim a packet drop: a program that logs such a line is a forger, but for ulogd. `unknown`: not shown. */
export type Origin = 'kernel' | 'userspace' | 'unknown';

export interface Envelope {
  text: string;
  time: Millis | undefined;
  timeIsExact: boolean;
  host: string | undefined;
  origin: Origin;
  /** Program that wrote it, where named. */
  program: string | undefined;
  /** Names of the layers taken off, outermost first. */
  layers: string[];
}

/** The first time stamp met wins: it is the one the log daemon wrote, the inner ones are the application's. */
export function setTime(envelope: Envelope, time: Millis | undefined, exact = true): void {
  if (envelope.time !== undefined && (envelope.timeIsExact || !exact)) return;
  // Beyond that there are no dates (ECMAScript, 21.4.1.1).
  if (time === undefined || !(Math.abs(time) <= 8.64e15)) return;
  envelope.time = time;
  envelope.timeIsExact = exact;
}

export function takeOff(envelope: Envelope, length: number, layer: string): void {
  envelope.text = envelope.text.slice(length);
  envelope.layers.push(layer);
}
