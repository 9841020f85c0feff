import { statSync } from 'node:fs';
import { decodeText } from '../../../base/log-formats/container-log.ts';
import type { ToInstant } from '../../../base/log-formats/rfc3339.ts';
import type { LogLine, Millis } from '../../../base/model/log-line.ts';
import { createClockOfNow, type StampClock } from '../envelopes/clock.ts';
import type { Envelope } from '../envelopes/envelope.ts';
import type { KnownTexts } from '../envelopes/json-messages.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { createNeedleSearch } from '../framing/needles.ts';
import { withoutHalfValue } from '../framing/scanner.ts';
import { readOwnStamp } from '../kubelet/saved-log.ts';
import { createRecordJoiner, isFatal, opensBlock, type RecordLine } from '../records/joiner.ts';
import { createRepeatedLines } from '../repeats/repeated-lines.ts';
import { type Source, type SourceListener, systemTiming } from '../source.ts';
import { createRotatedLog, type RotatedLogOptions } from './rotated-log.ts';

export interface FollowFileOptions extends Omit<RotatedLogOptions, 'lines' | 'listener'> {
  needles: readonly string[];
  /** Finds lines in JSON by their content. */
  known?: KnownTexts | undefined;
  listener: SourceListener;
  /** The zone of stamps without one. Default: UTC. */
  zone?: ToInstant;
}

/** Follows the file of a syslog daemon. A line without a time gets the time of the line before it, and the first line the present time. */
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
    const envelope = readEnvelope(raw, clockAt(timing.wall()), options.known);
    // A text with a closing character is complete.
    if (cut && raw.endsWith(envelope.text)) envelope.text = withoutHalfValue(envelope.text);
    const line = takeEnvelope(envelope, number);
    for (const each of envelope.more) takeEnvelope(each, number);
    if (!cut && envelope.more.length === 0) repeated?.learn(line);
  }

  function takeEnvelope({ text, host, program, container, origin, ...stamp }: Envelope, number: number): LogLine {
    const time = (lastTime = stamp.time ?? lastTime ?? timing.wall());
    const timeIsExact = stamp.time !== undefined && stamp.timeIsExact;
    const line: LogLine = { source: options.path, line: number, text, time, timeIsExact, host, program };
    if (container !== undefined) line.container = container;
    listener.take(line, origin);
    return line;
  }

  function timeOfStamp(stamp: string): Millis | undefined {
    return readEnvelope(stamp, clockAt(timing.wall())).time;
  }
}

export interface FollowProgramOptions extends FollowFileOptions {
  /** The program that writes the file: `kube-proxy`, or `k3s`, which contains many programs. */
  program: string;
}

/** Hands over records that may show a failure or a recovery: those with a needle, fatal ones, and those with a value of several lines. */
export function createFollowProgram(options: FollowProgramOptions): Source {
  const { path, program, needles, saved, listener, zone, timing = systemTiming, ...rest } = options;
  const { wall } = timing;
  const counts = { cut: 0, dangling: 0 };
  const search = createNeedleSearch(needles);
  const clockAt = createClockOfNow(zone);
  let latest: Millis | undefined;

  const records = createRecordJoiner({ saved: saved?.['record'], onRecord: hand, timing, counts });
  const log = createRotatedLog({ ...rest, path, saved, needles: undefined, timing, lines: { take }, listener });

  return {
    name: path,
    get state() {
      return log.state;
    },
    get position() {
      const { position } = log;
      return position && { ...position, record: records.position };
    },
    get counts() {
      const { lines, bytes, tooLong } = log.counts;
      return { lines, bytes, tooLong: tooLong + counts.cut };
    },
    start() {
      records.start();
      log.start();
    },
    stop() {
      log.stop();
      records.stop();
    },
  };

  function take(line: string, number: number): void {
    const { text, time } = withoutSyslog(line, clockAt(wall()));
    records.take({ text, time, number }, false, text.endsWith(opensBlock) || isFatal(text) || hasNeedle(text));
  }

  /** This is faster than a regular expression with as many alternatives, even though it copies the text. */
  function hasNeedle(text: string): boolean {
    const bytes = Buffer.from(text, 'latin1');
    search.reset();
    return search.next(bytes, 0, bytes.length) >= 0;
  }

  function hand({ text: bytes, time: stamped, number }: RecordLine): void {
    const stamp = stamped ?? readOwnStamp(bytes, clockAt(wall()));
    latest = stamp ?? latest;
    const [text, time, timeIsExact] = [decodeText(bytes), latest ?? wall(), stamp !== undefined];
    listener.take({ source: path, line: number, text, time, timeIsExact, host: undefined, program }, 'program');
  }
}

/** Matches stamps that klog and Calico do not write. */
const syslogStamp = /^(?:<\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\dT)/;

/** Removes rsyslog's prefix of each line, because rsyslog may write a separate file for each program. */
function withoutSyslog(line: string, clock: StampClock): { text: string; time: Millis | undefined } {
  const envelope = syslogStamp.test(line) ? readEnvelope(line, clock) : undefined;
  if (envelope?.program === undefined) return { text: line, time: undefined };
  // The envelope has removed all white space. The text after the first space is restored, because it marks a line that continues a record.
  const taken = line.slice(0, line.length - envelope.text.length);
  const indented = taken.slice(taken.trimEnd().length + 1);
  return { text: indented + envelope.text, time: envelope.time };
}

export interface ProgramLog {
  program: string;
  path: string;
}

/** Where kube-proxy's Pod writes on the host in GKE, kops, and similar clusters. */
const usual: readonly ProgramLog[] = [{ program: 'kube-proxy', path: '/var/log/kube-proxy.log' }];

/** The kubelet creates such a file before it starts the program, so an empty one counts, too. */
export function findProgramLogs(places = usual): readonly ProgramLog[] {
  return places.filter(({ path }) => {
    try {
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}
