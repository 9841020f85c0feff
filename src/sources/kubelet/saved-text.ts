import type { Millis } from '../../model/log-line.ts';
import { klogJsonTime, readKlogHeader } from '../../log-formats/go-loggers.ts';
import { fractionOf, readRfc3339, stamp, timeOfStamp } from '../../log-formats/rfc3339.ts';
import type { Clock } from '../envelopes/clock.ts';

/** `kubectl logs --prefix` */
const prefix = /^\[(?:pod|container)\/[^\]\s]{1,520}\] /;

/** Reads a line of a saved log that is no record of a container runtime. */
export interface SavedText {
  time: Millis | undefined;
  text: string;
}

/** Takes off what `kubectl logs` was asked to add. Where that has no time, the record's own stamp is taken, as UTC. */
export function readSavedText(line: string, clock: Clock): SavedText {
  const { time, text } = withoutMarks(line);
  return { time: time ?? readOwnStamp(text, clock), text };
}

export function withoutMarks(line: string): SavedText {
  const whole = line.replace(/^\u00ef\u00bb\u00bf/, '').replace(/\r$/, '');
  const text = whole.slice(prefix.exec(whole)?.[0].length ?? 0);
  // `kubectl logs --timestamps`
  const stamped = readRfc3339(text);
  const end = stamped?.length ?? 0;
  if (stamped === undefined || !(end === text.length || text[end] === ' ')) return { time: undefined, text };
  return { time: stamped.time, text: text.slice(end + 1) };
}

/** Reads the stamps of klog, logrus, svlogd and klog's JSON. */
export function readOwnStamp(text: string, clock: Clock): Millis | undefined {
  const klog = readKlogHeader(text);
  if (klog !== undefined) {
    const [month, date, hours, minutes, seconds, fraction] = klog.stamp;
    const time = clock.yearless(month, date, hours, minutes, seconds);
    return time === undefined ? undefined : time + fractionOf(fraction);
  }
  const found = stamp.exec(text.startsWith('time="') ? text.slice(6) : text);
  return found === null ? klogJsonTime(text) : timeOfStamp(found);
}
