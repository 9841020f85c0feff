import type { Clock } from '../clock.ts';
import { type Envelope, setTime } from './envelope.ts';
import { readHost } from './host.ts';

/** RFC 3339 and its neighbours: `T` or a space, `.` or dmesg's `,` before the fraction, with zone or without. */
const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?(?=[ |\t]|$)/;
/** CRI: `<RFC 3339> stdout|stderr P|F[:more] ` (Kubernetes, KEP "CRI container log format"). */
const cri = /^ (stdout|stderr) [PF][^ ]* /;
/** RFC 5424 after its stamp: `node-a kernel - - - `, structured data of one element at most. */
const rfc5424 = /^ (\S+) (\S+) \S+ \S+ (?:-|\[[^\]]*\]) ?/;
/** Go's log package: `2026/11/21 03:42:11.346165 `; no host follows. */
const goLog = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? /;
/** journalctl -o short-unix: `1795226670.836530 `. */
const unixSeconds = /^(\d{10})\.(\d{6}) /;

/** Stamps that begin with a digit. */
export function readNumericStamp(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  const found = rfc3339.exec(text);
  if (found) {
    const [whole, , , , , , , fraction, zone] = found;
    setTime(
      envelope,
      minuteOf(found, clock, zone) +
        Number(found[6]) * 1000 +
        (fraction === undefined ? 0 : Number(`0.${fraction}`) * 1000),
    );
    return afterStamp(envelope, text.slice(whole.length));
  }
  const go = goLog.exec(text);
  if (go) {
    const [whole, year, month, date, hours, minutes, seconds, fraction] = go;
    const time = clock.zone(
      Number(year),
      Number(month) - 1,
      Number(date),
      Number(hours),
      Number(minutes),
      Number(seconds),
    );
    setTime(envelope, time + (fraction === undefined ? 0 : Number(`0${fraction}`) * 1000));
    return strip(envelope, text.slice(whole.length), 'Go log stamp');
  }
  const unix = unixSeconds.exec(text);
  if (unix) {
    setTime(envelope, Number(unix[1]) * 1000 + Number(unix[2]) / 1000);
    strip(envelope, text.slice(unix[0].length), 'unix stamp');
    readHost(envelope);
  }
}

function afterStamp(envelope: Envelope, rest: string): void {
  const container = cri.exec(rest);
  if (container) return strip(envelope, rest.slice(container[0].length), 'CRI');
  strip(envelope, rest.startsWith(' ') ? rest.slice(1) : rest, 'RFC 3339 stamp');
  if (envelope.layers[0] === 'syslog priority') {
    const structured = rfc5424.exec(rest);
    if (structured) {
      envelope.host = structured[1];
      envelope.text = rest.slice(structured[0].length);
      if (structured[2] !== 'kernel' && structured[2] !== '-') envelope.origin = 'userspace';
      return;
    }
  }
  readHost(envelope);
}

/** The start of the stamp's minute. Minutes are cached: a busy log has thousands of lines in each. */
function minuteOf(found: RegExpExecArray, clock: Clock, zone: string | undefined): number {
  const [whole, year, month, date, hours, minutes] = found;
  const minute = `${whole.slice(0, 16)}${zone ?? ''}`;
  const { recent } = clock;
  if (recent.minute === minute) return recent.minuteStart;
  const toInstant = zone === undefined ? clock.zone : Date.UTC;
  const base =
    toInstant(Number(year), Number(month) - 1, Number(date), Number(hours), Number(minutes), 0) - offsetOf(zone);
  recent.minute = minute;
  recent.minuteStart = base;
  return base;
}

/** `+02:00`, `-0600`, `Z` → milliseconds. */
function offsetOf(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

function strip(envelope: Envelope, rest: string, layer: string): void {
  envelope.text = rest;
  envelope.layers.push(layer);
}
