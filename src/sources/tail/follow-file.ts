import type { ToInstant } from '../../log-formats/rfc3339.ts';
import type { Millis } from '../../model/log-line.ts';
import { createClockOfNow } from '../envelopes/clock.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { withoutHalfValue } from '../framing/scanner.ts';
import { createRepeatedLines } from '../repeats/repeated-lines.ts';
import { type Source, type SourceListener, systemTiming } from '../source.ts';
import type { RotatedLogOptions } from './rotated-log.ts';
import { createRotatedLog } from './rotated-log.ts';

export interface FollowFileOptions extends Omit<RotatedLogOptions, 'lines' | 'listener'> {
  needles: readonly string[];
  listener: SourceListener;
  /** The zone of stamps without one. Default: UTC. */
  zone?: ToInstant;
}

/** Follows a syslog daemon's file. A line without a time has that of the one before; the first has the present. */
export function createFollowFile({ listener, zone, timing = systemTiming, ...options }: FollowFileOptions): Source {
  const repeated =
    listener.repeats &&
    createRepeatedLines({ ...listener.repeats, timeOf: timeOfStamp, onTaken: (time) => (lastTime = time) });
  const clockAt = createClockOfNow(zone);
  let lastTime: Millis | undefined;

  return createRotatedLog({
    ...options,
    timing,
    lines: { take, takeBytes: repeated?.take, turnEnded: listener.repeats?.flush },
    listener,
  });

  function take(raw: string, number: number, cut: boolean): void {
    const present = timing.wall();
    const envelope = readEnvelope(raw, clockAt(present));
    const { host, program, origin } = envelope;
    const text = cut ? withoutHalfValue(envelope.text) : envelope.text;
    const time = (lastTime = envelope.time ?? lastTime ?? present);
    const timeIsExact = envelope.time !== undefined && envelope.timeIsExact;
    const line = { source: options.path, line: number, text, time, timeIsExact, host, program };
    listener.take(line, origin);
    if (!cut) repeated?.learn(line);
  }

  function timeOfStamp(stamp: string): Millis | undefined {
    return readEnvelope(stamp, clockAt(timing.wall())).time;
  }
}
