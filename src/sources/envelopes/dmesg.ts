import { instantOf } from '../../log-formats/rfc3339.ts';
import type { Clock } from './clock.ts';
import { type Envelope, setTime, takeOff } from './envelope.ts';

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
export function readDmesg(envelope: Envelope, clock: Clock): void {
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
export function readDecoded(envelope: Envelope): void {
  const found =
    /^(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) {0,6}:[a-z]{3,6} {0,4}: ?/.exec(
      envelope.text,
    );
  if (!found) return;
  if (found[1] !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, found[0].length, 'dmesg -x');
}
