import type { Clock } from '../clock.ts';
import { type Envelope, setTime } from './envelope.ts';

/** `prio,seq,µs since boot,flags[,more];text` (Linux Documentation/ABI/testing/dev-kmsg). */
const record = /^(\d{1,10}),(\d{1,20}),(\d{1,20}),[^;,]*(?:,[^;]*)?;/;
const escape = /\\x([0-9a-fA-F]{2})/g;

/** A record of /dev/kmsg, saved as it was read. False when it is none. */
export function readKmsg(envelope: Envelope, clock: Clock): boolean {
  const found = record.exec(envelope.text);
  if (!found) return false;
  // Anybody may write to /dev/kmsg, but only the kernel with facility 0.
  envelope.origin = Number(found[1]) >>> 3 === 0 ? 'kernel' : 'userspace';
  const { time, exact } = clock.sinceBoot(Number(found[3]) / 1e6);
  setTime(envelope, time, exact);
  const text = envelope.text.slice(found[0].length);
  // \xNN stands for one byte, and this is latin1 text: one character a byte.
  envelope.text = text.includes('\\x')
    ? text.replace(escape, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
  envelope.layers.push('kmsg record');
  return true;
}
