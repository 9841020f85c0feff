import type { LogLine, Millis } from '../../model/log-line.ts';
import type { ToInstant } from '../../log-formats/rfc3339.ts';
import { createClockOfNow } from './clock-of-now.ts';
import { readEnvelope } from './read-envelope.ts';
import type { Origin } from './envelope.ts';
import { withoutHalfValue } from '../framing/half-value.ts';

export interface LiveLineOptions {
  source: string;
  /** How stamps without a zone are read. Default: UTC. */
  zone: ToInstant | undefined;
  wall: () => Millis;
}

/** Makes a line of text from a log that is being written into a `LogLine`. `cut`: as in `createScanner`. */
export type ReadLiveLine = (text: string, number: number, cut: boolean) => { line: LogLine; origin: Origin };

/** A line without a time of its own has that of the line before; the first has the present. */
export function createLiveLineReader({ source, zone, wall }: LiveLineOptions): ReadLiveLine {
  const clockAt = createClockOfNow(zone);
  let lastTime: Millis | undefined;

  return (text, number, cut) => {
    const present = wall();
    const envelope = readEnvelope(text, clockAt(present));
    if (cut) envelope.text = withoutHalfValue(envelope.text);
    const time = (lastTime = envelope.time ?? lastTime ?? present);
    const timeIsExact = envelope.time !== undefined && envelope.timeIsExact;
    return {
      line: {
        source,
        line: number,
        text: envelope.text,
        time,
        timeIsExact,
        host: envelope.host,
        program: envelope.program,
      },
      origin: envelope.origin,
    };
  };
}
