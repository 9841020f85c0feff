import type { Clock } from './clock.ts';
import { fractionOf, instantOf, zoneOf } from './date.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';
import { readHost, setProgram } from './host.ts';

/** RFC 3339 and its neighbours: `T` or a space, `.` or dmesg's `,` before the fraction, with zone or without. */
const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2})([.,]\d{1,9})?(Z|[+-]\d{2}:?\d{2})?(?=[ |\t]|$)/;
/** CRI: `<RFC 3339> stdout|stderr P|F[:more] ` (Kubernetes, KEP "CRI container log format"). */
const cri = /^ (stdout|stderr) [PF]\S{0,64} /;
/** RFC 5424 after its stamp: `node-a kernel - - - `, with up to eight elements of structured data. */
const rfc5424 = /^ (\S{1,255}) (\S{1,64}) \S{1,128} \S{1,64} (?:-|(?:\[[^\]]{0,1024}\]){1,8}) ?(?:\u00ef\u00bb\u00bf)?/;
/** Go's log package: `2026/11/21 03:42:11.346165 `; no host follows. */
const goLog = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? /;
/** journalctl -o short-unix: `1795226670.836530 `. */
const unixSeconds = /^(\d{10})\.(\d{6}) /;

/** Stamps that begin with a digit. */
export function readNumericStamp(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  const found = rfc3339.exec(text);
  if (found) {
    const time = rfc3339Time(found, clock);
    setTime(envelope, time);
    return afterStamp(envelope, found[0].length, found[7]?.startsWith(',') ?? false);
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

function afterStamp(envelope: Envelope, length: number, fromDmesg: boolean): void {
  const rest = envelope.text.slice(length);
  const container = cri.exec(rest);
  if (container) return takeOff(envelope, length + container[0].length, 'CRI');
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
function rfc3339Time(found: RegExpExecArray, clock: Clock): number | undefined {
  const [whole, year, month, date, hours, minutes, seconds, fraction, zone] = found;
  const rest = Number(seconds) * 1000 + fractionOf(fraction);
  if (rest > 61_000) return undefined;
  const minute = `${whole.slice(0, 16)}${zone ?? ''}`;
  const { recent } = clock;
  if (recent.minute !== minute) {
    const start = instantOf(zoneOf(zone, clock), year, month, date, hours, minutes, '0');
    if (start === undefined) return undefined;
    recent.minute = minute;
    recent.minuteStart = start;
  }
  return recent.minuteStart + rest;
}
