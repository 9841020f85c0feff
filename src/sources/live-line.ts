import type { LogLine, Millis } from '../model.ts';
import { type Clock, createClock, type ToInstant } from './clock.ts';
import { readEnvelope } from './envelope.ts';
import type { Origin } from './envelopes/envelope.ts';
import { withoutHalfValue } from './half-value.ts';

export interface LiveLineOptions {
  source: string;
  /** How stamps without a zone are read. Default: UTC. */
  zone: ToInstant | undefined;
  now: () => Millis;
}

/** Makes a line of text from a log that is being written into a `LogLine`. `cut`: as in `createScanner`. */
export type ReadLiveLine = (text: string, number: number, cut: boolean) => { line: LogLine; origin: Origin };

/** Of a clock, because `latest` decides the year of stamps without one. */
const clockLife: Millis = 3_600_000;

/** A line without a time of its own has that of the line before; the first has the present. */
export function createLiveLineReader({ source, zone = Date.UTC, now }: LiveLineOptions): ReadLiveLine {
  let made: Millis = -Infinity;
  let clock: Clock;
  let lastTime: Millis | undefined;

  return (text, number, cut) => {
    const present = now();
    // Also when the node's clock was set back.
    if (Math.abs(present - made) >= clockLife) {
      made = present;
      clock = createClock({ latest: present, zone });
    }
    const envelope = readEnvelope(text, clock);
    if (cut) envelope.text = withoutHalfValue(envelope.text);
    const time = (lastTime = envelope.time ?? lastTime ?? present);
    const timeIsExact = envelope.time !== undefined && envelope.timeIsExact;
    return {
      line: { source, line: number, text: envelope.text, time, timeIsExact, host: envelope.host },
      origin: envelope.origin,
    };
  };
}
