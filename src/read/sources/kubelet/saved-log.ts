import { readContainerRecord } from '../../../base/log-formats/container-log.ts';
import {
  hasKlogHeader,
  hasLogrusPairs,
  klogJsonTime,
  readKlogHeader,
  readLogrusHeader,
} from '../../../base/log-formats/go-loggers.ts';
import { fractionOf, readRfc3339, stamp, timeOfStamp } from '../../../base/log-formats/rfc3339.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { createClock, type StampClock } from '../envelopes/clock.ts';
import { withoutQuoting } from '../envelopes/quoting.ts';
import { type ContainerRecords, createContainerRecords } from '../records/container-records.ts';
import type { RecordLine } from '../records/joiner.ts';

const headLength = 64 * 1024;

/** `head`: latin1. True for a container's log and the output of `kubectl logs`, not for a syslog, a journal or a kernel log. */
export function isProgramLog(head: string): boolean {
  const counts = { program: 0, container: 0, other: 0 };
  for (const line of head.slice(0, headLength).split('\n')) {
    const kind = kindOfLine(line);
    if (kind !== undefined) counts[kind]++;
  }
  return counts.program > 0 ? counts.program >= counts.other : counts.container > counts.other;
}

export interface SavedLogOptions {
  latest: Millis;
  /** `number` counts from 1. `time` is undefined if neither the runtime nor the record has a stamp. */
  onRecord: (record: RecordLine) => void;
}

/** Reads a copy of the runtime's file, or the output of `kubectl logs` (both streams as one). Calls `onRecord` in `take` and `finish`. */
export function createSavedLogReader({ latest, onRecord }: SavedLogOptions): ContainerRecords {
  const clock = createClock({ latest });
  return createContainerRecords({
    saved: undefined,
    onRecord,
    readBare: (line) => readSavedText(line, clock),
    timing: { now: () => 0, schedule: () => () => {} },
  });
}

/** These match lines of bird, and texts that have no stamp before them. */
const beginnings: readonly RegExp[] = [
  /^(?:\d{4}-\d\d-\d\d[_ ]\d\d:\d\d:\d\d(?:\.\d{1,9})? )?bird6?: /,
  /^calico\/node is not ready: /,
  /^panic: \(\*logrus\.Entry\)/,
];

/** Matches a priority; a stamp of syslog, asctime, dmesg or /dev/kmsg; or the kernel's name. */
const logDaemon =
  /^(?:<\d{1,3}>|[A-Z][a-z]{2} [\d ]?\d \d\d:\d\d:\d\d|[A-Z][a-z]{2} (?:[A-Z][a-z]{2} [\d ]?\d|\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d|\[ {0,12}\d{1,10}\.\d{1,9}\]|\d{1,10},\d{1,20},\d{1,20},|(?:kern\s{0,4}:\s{0,4}\w{1,8}\s{0,4}: |kernel: ))/;
/** Matches the host and program that follow a stamp of RFC 3339 in a syslog. */
const hostAndProgram = /^[\w.:-]{1,255} [\w./-]{1,64}(?:\[\d{1,10}\])?: /;
const journal = /^\{.{0,65536}"(?:MESSAGE|__REALTIME_TIMESTAMP)"\s{0,4}:/;
/** Matches packets that a container repeats from another log, or logs itself. */
const packets =
  /(?:^|[^A-Za-z_])IN=\S{0,64} |acl_log\(|PolicyVerdict|"Flow Info|AntreaPolicy|"oob\.|"flow":\{"|"lost_events":\{|"disposition":"/;

/** `program`: in the format of kube-proxy or calico-node. `container`: another one. `other`: a log daemon, or a logger of packets. */
export function kindOfLine(line: string): 'program' | 'container' | 'other' | undefined {
  const record = readContainerRecord(line);
  const { time, text } = record ?? withoutMarks(line);
  // In pairs of keys and values, collectors write lines of any writer.
  if (hasLogrusPairs(text) && packets.test(text)) return 'other';
  if (isProgram(text)) return 'program';
  if (logDaemon.test(text) || journal.test(text) || packets.test(text)) return 'other';
  if (record !== undefined) return 'container';
  return time !== undefined && hostAndProgram.test(text) ? 'other' : undefined;
}

function isProgram(text: string): boolean {
  if (hasKlogHeader(text) || klogJsonTime(text) !== undefined || hasLogrusPairs(text)) return true;
  if (!text.startsWith('[') && readLogrusHeader(text) !== undefined) return true;
  return beginnings.some((beginning) => beginning.test(text));
}

const prefix = /^\[(?:pod|container)\/[^\]\s]{1,520}\] /;

interface SavedText {
  time: Millis | undefined;
  text: string;
}

/** Reads a line that no container runtime has written. Without a time by `kubectl logs --timestamps`, its own stamp counts, as UTC. */
function readSavedText(line: string, clock: StampClock): SavedText {
  const { time, text } = withoutMarks(line);
  return { time: time ?? readOwnStamp(text, clock), text };
}

function withoutMarks(line: string): SavedText {
  const whole = withoutQuoting(line.replace(/^\u00ef\u00bb\u00bf/, '').replace(/\r$/, ''));
  const text = whole.slice(prefix.exec(whole)?.[0].length ?? 0);
  const stamped = readRfc3339(text);
  const end = stamped?.length ?? 0;
  if (stamped === undefined || !(end === text.length || text[end] === ' ')) return { time: undefined, text };
  return { time: stamped.time, text: text.slice(end + 1) };
}

export function readOwnStamp(text: string, clock: StampClock): Millis | undefined {
  const klog = readKlogHeader(text);
  if (klog !== undefined) {
    const [month, date, hours, minutes, seconds, fraction] = klog.stamp;
    const time = clock.yearless(month, date, hours, minutes, seconds);
    return time === undefined ? undefined : time + fractionOf(fraction);
  }
  const found = stamp.exec(text.startsWith('time="') ? text.slice(6) : text);
  return found === null ? klogJsonTime(text) : timeOfStamp(found);
}
