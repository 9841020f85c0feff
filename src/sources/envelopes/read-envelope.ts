import { fractionOf, instantOf, zoneOf } from '../../log-formats/rfc3339.ts';
import type { Clock } from './clock.ts';
import { type Envelope, readKmsg, setTime, takeOff } from './envelope.ts';
import { readHost, readKernelTag, readTag } from './host.ts';
import { readJournal, readJson } from './json.ts';
import { readNumericStamp } from './numeric.ts';

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

/** `Nov 21 03:42:11 `, `Sep 5 14:34:40 ` (one space), `Nov 21 03:42:11.123456 ` (journalctl -o short-precise). */
const stamp = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?: |$)/;
/** asctime with the year behind, as OpenWrt and syslog-ng write: `Sat Nov 21 03:42:11 2026 `. */
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4}) /;
/** journalctl -o short-full: `Sat 2026-11-21 03:42:11 UTC `. Of named zones only UTC is known. */
const full =
  /^[A-Z][a-z]{2} (\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? ([A-Z]{1,5}|[+-]\d{2}(?::?\d{2})?) /;

function readMonthStamp(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  const { recent } = clock;
  if (recent.second !== '' && text.startsWith(recent.second)) {
    setTime(envelope, recent.time);
    return finish(envelope, recent.second.length);
  }
  const found = stamp.exec(text);
  if (found) {
    const [whole, month = '', date, hours, minutes, seconds, fraction] = found;
    const base = clock.yearless(month, Number(date), Number(hours), Number(minutes), Number(seconds));
    if (base === undefined) return;
    recent.second = whole;
    recent.time = base + fractionOf(fraction);
    setTime(envelope, recent.time);
    return finish(envelope, whole.length);
  }
  const dated = asctime.exec(text);
  if (dated) {
    const [whole, month, date, hours, minutes, seconds, year] = dated;
    setTime(envelope, instantOf(clock.zone, year, month, date, hours, minutes, seconds));
    return finish(envelope, whole.length);
  }
  const weekday = full.exec(text);
  if (weekday) {
    const [whole, year, month, date, hours, minutes, seconds, fraction, zone] = weekday;
    const time = instantOf(zoneOf(zone, clock.zone), year, month, date, hours, minutes, seconds);
    setTime(envelope, time === undefined ? undefined : time + fractionOf(fraction));
    finish(envelope, whole.length);
  }
}

function finish(envelope: Envelope, length: number): void {
  takeOff(envelope, length, 'syslog stamp');
  readHost(envelope);
}

/**
 * `[ 1156.246182] `, after it perhaps the printk caller `[T123]` or `[C0]`, which dmesg since 2.41 sets off by a space; with dmesg -d
 * the delta `[ 12.0 <    0.6>] `.
 */
const uptime = /\[ {0,16}\d{1,10}\.\d{1,9}(?: <[ +]{0,16}\d{1,10}\.\d{1,9}>)?\](?: ?\[ {0,16}[TC]\d{1,10}\])? ?/y;
/** dmesg -T, perhaps with -d: `[Sat Nov 21 03:42:11 2026] `. The zone is the reader's. */
const humanTime =
  /^\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})(?: <[ +]{0,16}\d{1,10}\.\d{1,9}>)?\] /;
/** dmesg -e: `[Nov21 03:42] ` for the first line of a minute, the distance to the line before for the others. */
const shortTime = /^\[([A-Z][a-z]{2})( ?\d{1,2}) (\d{2}):(\d{2})\] /;
const delta = /^\[[ <+]{0,16}\d{1,10}\.\d{1,9}>?\] /;

/** The bracketed stamps of printk and of dmesg's options. */
function readDmesg(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  uptime.lastIndex = 0;
  if (uptime.test(text)) {
    const end = uptime.lastIndex;
    // Behind a wall-clock stamp the uptime says nothing new.
    if (envelope.time === undefined) {
      const { time, exact } = clock.sinceBoot(Number.parseFloat(text.slice(1)));
      setTime(envelope, time, exact);
    }
    return takeOff(envelope, end, 'uptime');
  }
  const human = humanTime.exec(text);
  if (human) {
    const [whole, month, date, hours, minutes, seconds, year] = human;
    setTime(envelope, instantOf(clock.zone, year, month, date, hours, minutes, seconds));
    return takeOff(envelope, whole.length, 'dmesg -T');
  }
  const short = shortTime.exec(text);
  if (short) {
    const [whole, month = '', date, hours, minutes] = short;
    setTime(envelope, clock.yearless(month, Number(date), Number(hours), Number(minutes), 0));
    return takeOff(envelope, whole.length, 'dmesg -e');
  }
  const step = delta.exec(text);
  if (step) takeOff(envelope, step[0].length, 'dmesg delta');
}

/** dmesg -x: `kern  :warn  : [ 1156.246182] …`; other facilities are not the kernel's. */
function readDecoded(envelope: Envelope): void {
  const found =
    /^(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) {0,6}:[a-z]{3,6} {0,4}: ?/.exec(
      envelope.text,
    );
  if (!found) return;
  if (found[1] !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, found[0].length, 'dmesg -x');
}
