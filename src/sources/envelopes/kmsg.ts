import type { Clock } from './clock.ts';
import { type Envelope, setTime } from './envelope.ts';

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
