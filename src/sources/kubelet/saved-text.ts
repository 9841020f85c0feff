import type { Millis } from '../../model/log-line.ts';
import { type Clock, months } from '../envelopes/clock.ts';
import { fractionOf, instantOf } from '../envelopes/date.ts';

/** `kubectl logs --prefix`, `--timestamps`. */
const prefix = /^\[(?:pod|container)\/[^\]\s]{1,520}\] /;
const stamped = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))(?: |$)/;

/** `2026-11-21 10:00:00.000 [INFO]…` of logrus, `2026-11-21_10:00:00.00000 bird: …` of svlogd, `time="2026-11-21T10:00:00Z"`. */
const iso = /^(?:time=")?(\d{4})-(\d\d)-(\d\d)[ _T](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?/;
/** `E1121 02:04:30.836390 …` */
const klog = /^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(\.\d{1,9})/;
/** Milliseconds in klog's JSON. */
const json = /^\{\s{0,8}"ts"\s{0,8}:\s{0,8}(\d{12,13}(?:\.\d{1,9})?)[,}\s]/;

/** What a line of a saved log says that is no record of a container runtime. */
export interface SavedText {
  /** Undefined where it has no stamp. */
  time: Millis | undefined;
  text: string;
}

/** Takes off what `kubectl logs` was asked to add. Where that has no time, the record's own stamp tells, as UTC. */
export function readSavedText(line: string, clock: Clock): SavedText {
  const { time, text } = withoutMarks(line);
  return { time: time ?? readOwnStamp(text, clock), text };
}

export function withoutMarks(line: string): SavedText {
  const whole = line.replace(/^\u00ef\u00bb\u00bf/, '').replace(/\r$/, '');
  const text = whole.slice(prefix.exec(whole)?.[0].length ?? 0);
  const found = stamped.exec(text);
  const time = found === null ? undefined : timeOf(found);
  return time === undefined ? { time, text } : { time, text: text.slice(found?.[0].length) };
}

function timeOf([, year, month, date, hours, minutes, seconds, fraction, sign, ...zone]: RegExpExecArray):
  | Millis
  | undefined {
  const local = instantOf(Date.UTC, year, month, date, hours, minutes, seconds);
  if (local === undefined) return undefined;
  const offset = (Number(zone[0] ?? 0) * 60 + Number(zone[1] ?? 0)) * 60_000;
  return local + fractionOf(fraction) + (sign === '-' ? offset : -offset);
}

/** What klog, logrus, svlogd or klog's JSON stamp a record with. */
export function readOwnStamp(text: string, clock: Clock): Millis | undefined {
  const day = klog.exec(text);
  if (day !== null) {
    const [, month, date, hours, minutes, seconds, fraction] = day;
    const name = months[Number(month) - 1] ?? '';
    const time = clock.yearless(name, Number(date), Number(hours), Number(minutes), Number(seconds));
    return time === undefined ? undefined : time + fractionOf(fraction);
  }
  const found = iso.exec(text);
  if (found !== null) return timeOf(found);
  const millis = json.exec(text)?.[1];
  return millis === undefined ? undefined : Number(millis);
}
