import type { Clock } from './clock.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';
import { readDecoded, readDmesg } from './dmesg.ts';
import { readKernelTag, readTag } from './host.ts';
import { readJournal, readJson } from './json.ts';
import { readKmsg } from './kmsg.ts';
import { readNumericStamp } from './numeric.ts';
import { readMonthStamp } from './rfc3164.ts';

/** Envelopes seen in the wild nest three deep (CRI around RFC 3164 around uptime); more is hostile. */
const maxLayers = 6;

/** Never throws; a line without any envelope comes back whole, with `time` undefined. */
export function readEnvelope(line: string, clock: Clock): Envelope {
  // The mark of UTF-8, which editors put at the start of a file.
  const envelope = envelopeOf(line.startsWith('\u00ef\u00bb\u00bf') ? line.slice(3) : line);
  takeLayers(envelope, clock, 0);
  return envelope;
}

/** A record of the journal, whose fields were read already, and what is around its message. */
export function readJournalFields(fields: { readonly [name: string]: string }, clock: Clock): Envelope {
  const envelope = envelopeOf('');
  readJournal(envelope, fields);
  takeLayers(envelope, clock, 1);
  return envelope;
}

function envelopeOf(text: string): Envelope {
  return {
    text,
    time: undefined,
    timeIsExact: true,
    host: undefined,
    origin: 'unknown',
    program: undefined,
    layers: [],
  };
}

function takeLayers(envelope: Envelope, clock: Clock, first: number): void {
  for (let depth = first; depth < maxLayers; depth++) {
    const before = envelope.text;
    takeLayer(envelope, clock);
    // Talos names node, facility and level at the very start of a line; later they would be a LOG prefix.
    if (depth === 0 && envelope.text === before) readTalos(envelope, clock);
    if (envelope.text === before) readTag(envelope);
    if (envelope.text === before) break;
  }
}

/** Takes off the outermost layer, chosen by its first character; leaves `envelope.text` alone when there is none. */
function takeLayer(envelope: Envelope, clock: Clock): void {
  const first = envelope.text.charCodeAt(0);
  if (first === 0x5b /* [ */) return readDmesg(envelope, clock);
  if (first === 0x3c /* < */) return readPriority(envelope);
  if (first === 0x7b /* { */) return readJson(envelope, clock);
  if (first === 0x20 || first === 0x09) {
    envelope.text = envelope.text.trimStart();
    return;
  }
  if (first >= 0x30 && first <= 0x39) return readKmsg(envelope, clock) ? undefined : readNumericStamp(envelope, clock);
  if (first >= 0x41 && first <= 0x5a) return readMonthStamp(envelope, clock);
  if (first >= 0x61 && first <= 0x7a) {
    readKernelTag(envelope);
    // dmesg's decoded facility stands at the very start of a line; later it would be a LOG prefix.
    if (envelope.layers.length === 0) readDecoded(envelope);
  }
}

/** `<4>`: syslog priority, facility * 8 + severity (RFC 3164, 4.1.1). Facility 0 is the kernel. */
function readPriority(envelope: Envelope): void {
  const found = /^<(\d{1,3})>(?:1 (?=\d{4}-))?/.exec(envelope.text);
  if (!found) return;
  envelope.text = envelope.text.slice(found[0].length);
  if (Number(found[1]) >> 3 !== 0) envelope.origin = 'userspace';
  envelope.layers.push('syslog priority');
}

const line =
  /^(?:([A-Za-z0-9][A-Za-z0-9._:%-]{0,254}): )?(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d): {1,7}[a-z]{3,7}: \[(\d[^\]]{18,40})\]: /;

/**
 * `talosctl dmesg` and `talosctl logs kernel` of Talos Linux: `10.0.1.2: kern: warning: [2026-11-21T03:42:11.123456789Z]: …`, where a
 * node is named as it was asked for (`Dmesg` in machined's v1alpha1 server). Other facilities are not the kernel's.
 */
function readTalos(envelope: Envelope, clock: Clock): void {
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
