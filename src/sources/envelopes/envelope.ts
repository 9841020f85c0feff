import type { Millis } from '../../model/log-line.ts';
import type { Clock } from './clock.ts';

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

/** `prio,seq,µs since boot,flags[,more];text` (Linux Documentation/ABI/testing/dev-kmsg). */
const record = /^(\d{1,10}),(\d{1,20}),(\d{1,20}),[^;,]*(?:,[^;]*)?;/;
const escape = /\\x([0-9a-fA-F]{2})/g;

/** The writer stands before the message, where only the kernel writes. */
export const kmsgLayer = 'kmsg record';

/** A record of /dev/kmsg, saved as it was read. False when it is none. */
export function readKmsg(envelope: Envelope, clock: Clock): boolean {
  const found = record.exec(envelope.text);
  if (!found) return false;
  // Anybody may write to /dev/kmsg, but only the kernel with facility 0; and anybody may write what looks like a record.
  if (Number(found[1]) >>> 3 !== 0) envelope.origin = 'userspace';
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  const { time, exact } = clock.sinceBoot(Number(found[3]) / 1e6);
  setTime(envelope, time, exact);
  const text = envelope.text.slice(found[0].length);
  // \xNN stands for one byte, and this is latin1 text: one character a byte.
  envelope.text = text.includes('\\x')
    ? text.replace(escape, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
  envelope.layers.push(kmsgLayer);
  return true;
}
