import { criMarks } from '../../log-formats/cri.ts';
import { fractionOf, instantOf, stamp, zoneOf } from '../../log-formats/rfc3339.ts';
import { copy } from '../../platform/address.ts';
import type { Clock } from './clock.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';
import { readHost, setProgram } from './host.ts';

/** RFC 5424 after its stamp: `node-a kernel - - - `, with up to eight elements of structured data. */
const rfc5424 = /^ (\S{1,255}) (\S{1,64}) \S{1,128} \S{1,64} (?:-|(?:\[[^\]]{0,1024}\]){1,8}) ?(?:\u00ef\u00bb\u00bf)?/;
/** Go's log package: `2026/11/21 03:42:11.346165 `; no host follows. */
const goLog = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? /;
/** `2026-11-21T03:42:` */
const minuteLength = 17;
/** journalctl -o short-unix: `1795226670.836530 `. */
const unixSeconds = /^(\d{10})\.(\d{6}) /;

export function readNumericStamp(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  const length = readInMinute(envelope, clock);
  if (length > 0) return afterStamp(envelope, length, false);
  const found = stamp.exec(text);
  if (found && found[4] !== '_' && isStampEnd(text[found[0].length])) {
    setTime(envelope, stampTime(found, clock));
    return afterStamp(envelope, found[0].length, found[8]?.startsWith(',') ?? false);
  }
  const go = goLog.exec(text);
  if (go) {
    const [whole, year, month, date, hours, minutes, seconds, fraction] = go;
    const time = instantOf(clock.zone, year, month, date, hours, minutes, seconds);
    setTime(envelope, time === undefined ? undefined : time + fractionOf(fraction));
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
  takeOff(envelope, rest.startsWith(' ') ? length + 1 : length, 'RFC 3339 stamp');
  // dmesg --time-format iso, which alone writes a comma, names no host.
  if (!fromDmesg) readHost(envelope);
}

/** Minutes are cached: a busy log has thousands of lines in each. */
function stampTime(found: RegExpExecArray, clock: Clock): number | undefined {
  const [whole, year, month, date, , hours, minutes, seconds, fraction, zone = ''] = found;
  const rest = Number(seconds) * 1000 + fractionOf(fraction);
  if (rest > 61_000) return undefined;
  const minute = whole.slice(0, minuteLength);
  const { recent } = clock;
  if (recent.minute !== minute || recent.minuteZone !== zone) {
    const start = instantOf(zoneOf(zone, clock.zone), year, month, date, hours, minutes, '0');
    if (start === undefined) return undefined;
    // A slice would keep all of the line.
    recent.minute = copy(minute);
    recent.minuteZone = zone;
    recent.minuteStart = start;
  }
  return recent.minuteStart + rest;
}

/** A stamp of the minute that was read last, by its characters: what a match is made of takes longer. Its length; 0: to be read as any other. */
function readInMinute(envelope: Envelope, { recent }: Clock): number {
  const { text } = envelope;
  if (recent.minute === '' || !text.startsWith(recent.minute)) return 0;
  const tens = digitAt(text, minuteLength);
  const ones = digitAt(text, minuteLength + 1);
  if (tens < 0 || ones < 0 || tens > 5) return 0;
  let at = minuteLength + 2;
  let fraction = 0;
  if (text[at] === '.') {
    const from = ++at;
    let scale = 1;
    for (let digit = 0; at - from < 9 && (digit = digitAt(text, at)) >= 0; at++) {
      fraction = fraction * 10 + digit;
      scale *= 10;
    }
    if (at === from) return 0;
    fraction /= scale;
  }
  if (!text.startsWith(recent.minuteZone, at)) return 0;
  at += recent.minuteZone.length;
  if (!isStampEnd(text[at])) return 0;
  setTime(envelope, recent.minuteStart + ((tens * 10 + ones) * 1000 + fraction * 1000));
  return at;
}

/** -1 where there is none. */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48;
  return digit >= 0 && digit <= 9 ? digit : -1;
}
