import type { Clock } from '../clock.ts';
import { dateOf } from './date.ts';
import { type Envelope, setTime } from './envelope.ts';

/** `[ 1156.246182] `, after it perhaps the printk caller `[T123]` or `[C0]`, and for dmesg -e the delta `[  +0.5]`. */
const uptime = /\[ *\d{1,10}\.\d{1,9}\](?:\[ *[TC]\d+\])? ?/y;
/** dmesg -T: `[Sat Nov 21 03:42:11 2026] `. The zone is the reader's. */
const humanTime = /^\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})\] /;
/** dmesg -d and -e print the distance to the line before instead of a time. */
const delta = /^\[[ <]*\+? *\d+\.\d+>?\] /;

/** The bracketed stamps of printk and of dmesg's options. */
export function readDmesg(envelope: Envelope, clock: Clock): void {
  const { text } = envelope;
  if (uptime.test(text)) {
    const end = uptime.lastIndex;
    uptime.lastIndex = 0;
    // Behind a wall-clock stamp the uptime says nothing new.
    if (envelope.time === undefined) {
      const { time, exact } = clock.sinceBoot(Number.parseFloat(text.slice(1)));
      setTime(envelope, time, exact);
    }
    return strip(envelope, end, 'uptime');
  }
  const human = humanTime.exec(text);
  if (human) {
    const [, month = '', date, hours, minutes, seconds, year] = human;
    setTime(envelope, dateOf(clock, year, month, date, hours, minutes, seconds));
    return strip(envelope, human[0].length, 'dmesg -T');
  }
  const step = delta.exec(text);
  if (step) strip(envelope, step[0].length, 'dmesg delta');
}

function strip(envelope: Envelope, length: number, layer: string): void {
  envelope.text = envelope.text.slice(length);
  envelope.layers.push(layer);
}
