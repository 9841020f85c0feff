/** Reads the time stamps at the beginnings of lines, and the text that each writer puts after its stamp. */
import { criMarks } from '../../../base/log-formats/container-log.ts';
import { fractionOf, instantOf, stamp, zoneOf } from '../../../base/log-formats/rfc3339.ts';
import { copy } from '../../../base/platform/address.ts';
import type { StampClock } from './clock.ts';
import { type Envelope, readHost, readNamedHost, setProgram, setTime, takeOff } from './envelope.ts';

/**
 * Matches RFC 5424 after the stamp: `node-a kernel - - - `, with up to eight elements of structured data. Writers that leave the structured
 * data out have the message there, which may begin with a bracket as well: `node-a kernel - - [UFW BLOCK] `.
 */
const rfc5424 =
  /^ (\S{1,255}) (\S{1,64}) \S{1,128} (?:\S{1,64} (?:-|(?:\[[^\s=\]"]{1,64}(?: {1,2}[^\s=\]"]{1,64}="(?:[^"\\]|\\[^]){0,1024}"){1,32} ?\]){1,8})|-(?= \[)) ?(?:\u00ef\u00bb\u00bf)?/;
/** Matches the stamp of Go's log package: `2026/11/21 03:42:11.346165 `. No host follows. */
const goLog = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? /;
const minuteLength = 17;
/** Matches `journalctl -o short-unix`: `1795226670.836530 `. */
const unixSeconds = /^(\d{10})\.(\d{6}) /;

export function readNumericStamp(envelope: Envelope, clock: StampClock): void {
  const { text } = envelope;
  const found = stamp.exec(text);
  if (found && found[4] !== '_' && isStampEnd(text[found[0].length])) {
    setTime(envelope, stampTime(found, clock), true, found[9] === undefined ? 'zone' : undefined);
    return afterStamp(envelope, found[0].length, found[8]?.startsWith(',') ?? false);
  }
  const go = goLog.exec(text);
  if (go) {
    const [whole, year, month, date, hours, minutes, seconds, fraction] = go;
    setTime(envelope, instantOf(clock.zone, year, month, date, hours, minutes, seconds, fraction), true, 'zone');
    return takeOff(envelope, whole.length, 'Go log stamp');
  }
  const unix = unixSeconds.exec(text);
  if (unix) {
    setTime(envelope, Number(unix[1]) * 1000 + Number(unix[2]) / 1000);
    takeOff(envelope, unix[0].length, 'unix stamp');
    readHost(envelope);
  }
}

function isStampEnd(next: string | undefined): boolean {
  return next === undefined || next === ' ' || next === '|' || next === '\t';
}

function afterStamp(envelope: Envelope, length: number, fromDmesg: boolean): void {
  const rest = envelope.text.slice(length);
  const container = criMarks.exec(rest);
  if (container?.[2] === 'F' || container?.[2] === 'P') return takeOff(envelope, length + container[0].length, 'CRI');
  const structured = envelope.layers[0] === 'syslog priority' ? rfc5424.exec(rest) : null;
  if (structured) {
    const [whole, host, program] = structured;
    if (host !== '-') envelope.host = host;
    if (program !== '-') setProgram(envelope, program);
    return takeOff(envelope, length + whole.length, 'RFC 5424');
  }
  const zone = /^ [+-]\d{4} (?=[\w./*@-]{1,256}:? \{)/.exec(rest);
  if (zone !== null) return takeOff(envelope, length + zone[0].length, 'RFC 3339 stamp');
  takeOff(envelope, rest.startsWith(' ') ? length + 1 : length, 'RFC 3339 stamp');
  // Only dmesg --time-format iso writes a comma, and it names no host.
  if (!fromDmesg) readHost(envelope);
}

/** Remembers the last minute, because a busy log has thousands of lines in each. */
function stampTime(found: RegExpExecArray, clock: StampClock): number | undefined {
  const [whole, year, month, date, , hours, minutes, seconds, fraction, zone = ''] = found;
  const rest = Number(seconds) * 1000 + fractionOf(fraction);
  if (rest > 61_000) return undefined;
  const minute = whole.slice(0, minuteLength);
  const [last, other] = clock.recent.minutes;
  if (last.text === minute && last.zone === zone) return last.start + rest;
  if (other.text === minute && other.zone === zone) return other.start + rest;
  const start = instantOf(zoneOf(zone, clock.zone), year, month, date, hours, minutes, '0');
  if (start === undefined) return undefined;
  // A slice would keep the whole line in memory.
  const read = { text: copy(minute), zone, start };
  clock.recent.minutes = [read, last.zone === zone ? other : last];
  return start + rest;
}

/** Matches `Nov 21 03:42:11 `, `Sep 5 14:34:40 ` (one space), `Nov 21 03:42:11.123456 ` (journalctl -o short-precise). */
const monthStamp = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?: |$)/;
/** Matches asctime with the year at the end, as OpenWrt and syslog-ng write it: `Sat Nov 21 03:42:11 2026 `. */
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4}) /;
/** Matches `journalctl -o short-full`: `Sat 2026-11-21 03:42:11 UTC `. Of named zones only UTC is known. */
const full =
  /^[A-Z][a-z]{2} (\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? ([A-Z]{1,5}|[+-]\d{2}(?::?\d{2})?) /;

export function readMonthStamp(envelope: Envelope, clock: StampClock): void {
  const { text } = envelope;
  const { recent } = clock;
  if (recent.second !== '' && text.startsWith(recent.second)) {
    setTime(envelope, recent.time, true, 'year');
    return afterMonthStamp(envelope, recent.second.length);
  }
  const found = monthStamp.exec(text);
  if (found) {
    const [whole, month = '', date, hours, minutes, seconds, fraction] = found;
    const base = clock.yearless(month, Number(date), Number(hours), Number(minutes), Number(seconds));
    if (base === undefined) return;
    recent.second = whole;
    recent.time = base + fractionOf(fraction);
    setTime(envelope, recent.time, true, 'year');
    return afterMonthStamp(envelope, whole.length);
  }
  const dated = asctime.exec(text);
  if (dated) {
    const [whole, month, date, hours, minutes, seconds, year] = dated;
    setTime(envelope, instantOf(clock.zone, year, month, date, hours, minutes, seconds), true, 'zone');
    return afterMonthStamp(envelope, whole.length);
  }
  const weekday = full.exec(text);
  if (weekday) {
    const [whole, year, month, date, hours, minutes, seconds, fraction, zone] = weekday;
    const isNamed = zone === 'UTC' || zone === 'Z' || /^[+-]/.test(zone ?? '');
    const time = instantOf(zoneOf(zone, clock.zone), year, month, date, hours, minutes, seconds, fraction);
    setTime(envelope, time, true, isNamed ? undefined : 'zone');
    afterMonthStamp(envelope, whole.length);
  }
}

function afterMonthStamp(envelope: Envelope, length: number): void {
  takeOff(envelope, length, 'syslog stamp');
  readHost(envelope);
}

/**
 * Matches `[ 1156.246182] `. The printk caller may follow, `[T123]` or `[C0]`, after a space in dmesg since 2.41. dmesg -d writes the delta
 * inside: `[ 12.0 <    0.6>] `.
 */
const uptime = /\[ {0,16}\d{1,10}\.\d{1,9}(?: <[ +]{0,16}\d{1,10}\.\d{1,9} ?>)?\](?: ?\[ {0,16}[TC]\d{1,10}\])? ?/y;
/** Matches dmesg -T, perhaps with -d: `[Sat Nov 21 03:42:11 2026] `, in the time zone of the user who ran dmesg. */
const humanTime =
  /^\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})(?: <[ +]{0,16}\d{1,10}\.\d{1,9}>)?\] /;
/** Matches the first line of each minute in dmesg -e, `[Nov21 03:42] `. The other lines only have the time since the line before. */
const shortTime = /^\[([A-Z][a-z]{2})( ?\d{1,2}) (\d{2}):(\d{2})\] /;
const delta = /^\[[ <+]{0,16}\d{1,10}\.\d{1,9}>?\] /;

export function readDmesg(envelope: Envelope, clock: StampClock): void {
  const { text } = envelope;
  uptime.lastIndex = 0;
  if (uptime.test(text)) {
    const end = uptime.lastIndex;
    if (envelope.time === undefined) {
      const { time, exact } = clock.sinceBoot(Number.parseFloat(text.slice(1)));
      setTime(envelope, time, exact);
    }
    takeOff(envelope, end, 'uptime');
    return readNamedHost(envelope);
  }
  const human = humanTime.exec(text);
  if (human) {
    const [whole, month, date, hours, minutes, seconds, year] = human;
    setTime(envelope, instantOf(clock.zone, year, month, date, hours, minutes, seconds), true, 'zone');
    return takeOff(envelope, whole.length, 'dmesg -T');
  }
  const short = shortTime.exec(text);
  if (short) {
    const [whole, month = '', date, hours, minutes] = short;
    setTime(envelope, clock.yearless(month, Number(date), Number(hours), Number(minutes), 0), true, 'year');
    return takeOff(envelope, whole.length, 'dmesg -e');
  }
  const step = delta.exec(text);
  if (step) takeOff(envelope, step[0].length, 'dmesg delta');
}
