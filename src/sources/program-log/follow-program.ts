import { statSync } from 'node:fs';
import { decodeText } from '../../log-formats/cri.ts';
import type { Millis } from '../../model/log-line.ts';
import { type Clock, createClockOfNow } from '../envelopes/clock.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { createNeedleSearch } from '../framing/needles.ts';
import { readOwnStamp } from '../kubelet/saved-log.ts';
import { type RecordLine, createRecordJoiner } from '../records/joiner.ts';
import { isFatal, opensBlock } from '../records/record-kinds.ts';
import { type Source, systemTiming } from '../source.ts';
import type { FollowFileOptions } from '../tail/follow-file.ts';
import { createRotatedLog } from '../tail/rotated-log.ts';

export interface FollowProgramOptions extends FollowFileOptions {
  /** latin1; records none of whose lines has one of these may be passed over. */
  needles: readonly string[];
  /** The program that writes there: `kube-proxy`, or `k3s`, which has many programs in one. */
  program: string;
}

/** Follows the log file that a program has for itself, and hands over records that may be a sign of failure or recovery. */
export function createFollowProgram(options: FollowProgramOptions): Source {
  const { path, program, needles, saved, listener, zone, timing = systemTiming, ...rest } = options;
  const { wall } = timing;
  const counts = { cut: 0, dangling: 0 };
  const search = createNeedleSearch(needles);
  const clockAt = createClockOfNow(zone);
  let latest: Millis | undefined;

  const records = createRecordJoiner({ saved: saved?.['record'], onRecord: hand, timing, counts });
  const log = createRotatedLog({
    ...rest,
    path,
    saved,
    needles: undefined,
    timing,
    lines: { take },
    listener,
  });

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

  /** Faster than a regular expression of as many alternatives, though the text must be copied. */
  function hasNeedle(text: string): boolean {
    const bytes = Buffer.from(text, 'latin1');
    search.reset();
    return search.next(bytes, 0, bytes.length) >= 0;
  }

  function hand({ text, time, number }: RecordLine): void {
    const stamp = time ?? readOwnStamp(text, clockAt(wall()));
    latest = stamp ?? latest;
    const line = {
      source: path,
      line: number,
      text: decodeText(text),
      time: latest ?? wall(),
      host: undefined,
      program,
    };
    listener.take({ ...line, timeIsExact: stamp !== undefined }, 'program');
  }
}

/** klog and Calico write no such stamps. */
const syslogStamp = /^(?:<\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\dT)/;

/** rsyslog and its like may write a file for each program. */
function withoutSyslog(line: string, clock: Clock): { text: string; time: Millis | undefined } {
  const envelope = syslogStamp.test(line) ? readEnvelope(line, clock) : undefined;
  if (envelope?.program === undefined) return { text: line, time: undefined };
  // An envelope takes all white space with it; what follows the first space makes a line part of the record before.
  const taken = line.slice(0, line.length - envelope.text.length);
  const indented = taken.slice(taken.trimEnd().length + 1);
  return { text: indented + envelope.text, time: envelope.time };
}

export interface ProgramLog {
  program: string;
  path: string;
}

/** kube-proxy's where its Pod writes to the host: GKE, kops, and clusters set up like them. */
const usual: readonly ProgramLog[] = [{ program: 'kube-proxy', path: '/var/log/kube-proxy.log' }];

/** Logs of programs that are there, at their usual places. Such a log is made before the program, so before any Pod, is started. */
export function findProgramLogs(places = usual): readonly ProgramLog[] {
  return places.filter(({ path }) => {
    try {
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}
