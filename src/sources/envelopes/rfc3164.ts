import { fractionOf, instantOf, zoneOf } from '../../log-formats/rfc3339.ts';
import type { Clock } from './clock.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';
import { readHost } from './host.ts';

/** `Nov 21 03:42:11 `, `Sep 5 14:34:40 ` (one space), `Nov 21 03:42:11.123456 ` (journalctl -o short-precise). */
const stamp = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?: |$)/;
/** asctime with the year behind, as OpenWrt and syslog-ng write: `Sat Nov 21 03:42:11 2026 `. */
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4}) /;
/** journalctl -o short-full: `Sat 2026-11-21 03:42:11 UTC `. Of named zones only UTC is known. */
const full =
  /^[A-Z][a-z]{2} (\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? ([A-Z]{1,5}|[+-]\d{2}(?::?\d{2})?) /;

export function readMonthStamp(envelope: Envelope, clock: Clock): void {
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
