import type { Clock } from './clock.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';
import { readNumericStamp } from './numeric.ts';

const line =
  /^(?:([A-Za-z0-9][A-Za-z0-9._:%-]{0,254}): )?(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d): {1,7}[a-z]{3,7}: \[(\d[^\]]{18,40})\]: /;

/**
 * `talosctl dmesg` and `talosctl logs kernel` of Talos Linux: `10.0.1.2: kern: warning: [2026-11-21T03:42:11.123456789Z]: …`, where a
 * node is named as it was asked for (`Dmesg` in machined's v1alpha1 server). Other facilities are not the kernel's.
 */
export function readTalos(envelope: Envelope, clock: Clock): void {
  const found = line.exec(envelope.text);
  if (!found) return;
  const [whole, node, facility, stamp = ''] = found;
  const inner: Envelope = { ...envelope, text: stamp, time: undefined, layers: [] };
  readNumericStamp(inner, clock);
  if (inner.time === undefined) return;
  setTime(envelope, inner.time);
  if (node !== undefined) envelope.host = node;
  if (facility !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, whole.length, 'talosctl dmesg');
}
