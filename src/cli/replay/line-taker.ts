/** Hands the lines and records of one log to the pipeline, each with its time and writer. */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { containerOfPath } from '../../base/log-formats/container-log.ts';
import type { LogContainer, LogLine, Millis } from '../../base/model/log-line.ts';
import {
  createPrefixTable,
  isPacketRecord,
  knownTexts,
  parseDroppedLogs,
  parseNfqueue,
  parseProgramRecord,
} from '../../read/parsing/parsing.ts';
import { copy } from '../../base/platform/address.ts';
import { shorten } from '../../explain/resolving/resolving.ts';
import {
  type ClockOptions,
  createClock,
  createLineRecords,
  type Envelope,
  type LineOrigin,
  readEnvelope,
  readOwnStamp,
  type StampClock,
  withoutHalfValue,
} from '../../read/sources/reading.ts';
import type { LogTarget } from './log-target.ts';

/** The most host names that are kept, so that no log can fill the memory. The last place is for that of `--node`. */
const maxHosts = 256;
/** Programs write no LOG prefix. */
const prefixes = createPrefixTable();
/** In a saved log no timer ends a record, but the stamps of its lines. */
const timing = { now: () => 0, schedule: () => () => {} };

export interface LineTaker {
  readonly clock: StampClock;
  /** Whether the log is a container's, as its path says. */
  readonly isOfContainer: boolean;
  /** Whether the next line is needed, because it may continue a record. */
  isOpen: () => boolean;
  /** Takes a line with its envelope. Returns the parsed line; undefined if it waits for the rest of its record. */
  takeLine: (text: string, number: number, cut: boolean) => LogLine | undefined;
  /** Takes a record of a program, without its envelope. `time`: the stamp of the container runtime, or its own. */
  takeRecord: (text: string, number: number, time: Millis | undefined) => void;
  /** Sets the time for lines without one. */
  setTime: (time: Millis) => void;
  finish: () => void;
}

type StampedText = Pick<Envelope, 'text' | 'time' | 'timeIsExact' | 'timeLacks' | 'host' | 'program' | 'container'>;

export function createLineTaker(source: string, clockOptions: ClockOptions, target: LogTarget): LineTaker {
  const { pipeline, totals } = target;
  const clock = createClock(clockOptions);
  const container = containerOfLog(source);
  const noteHost = createHostNotes(target);
  /** A record without a time gets the time of the record before it. */
  let lastTime = clockOptions.latest;
  const passesPacket = createPacketWriters();
  const records = createLineRecords({ onRecord: takeJoined, timing });

  return {
    clock,
    isOfContainer: container !== undefined,
    isOpen: () => records.isOpen,
    takeLine(text, number, cut) {
      const envelope = readEnvelope(text, clock, knownTexts);
      // A text with a closing character is complete.
      if (cut && text.endsWith(envelope.text)) envelope.text = withoutHalfValue(envelope.text);
      const line = takeOrJoin(envelope, number);
      for (const each of envelope.more) takeOrJoin(each, number);
      return line;
    },
    takeRecord,
    setTime: (time) => (lastTime = time),
    finish: records.finish,
  };

  function takeOrJoin(envelope: Envelope, number: number): LogLine | undefined {
    return records.take(envelope, number) ? undefined : takeEnvelope(envelope, number, undefined);
  }

  function takeJoined(envelope: Envelope, number: number): void {
    const { text, writer } = envelope;
    if (passesPacket(text, envelope.container, writer)) takeEnvelope(envelope, number, undefined);
  }

  function takeRecord(text: string, number: number, time: Millis | undefined): void {
    // The record may be a kernel line that another program passes on. A container's own log is read as the agent reads it,
    // without removing an envelope: a line that a container quotes is still its own.
    if (container === undefined && (parseDroppedLogs(text, undefined) ?? parseProgramRecord(text)) === undefined) {
      takeEnvelope(readEnvelope(text, clock, knownTexts), number, time);
      return;
    }
    if (!passesPacket(text, container, '')) return;
    const writer = container !== undefined ? 'container' : isPacketRecord(text, prefixes) ? 'unknown' : 'userspace';
    const line = { text, host: undefined, program: undefined, container, time };
    hand({ ...line, timeIsExact: time !== undefined, timeLacks: undefined }, number, writer);
  }

  /** `stamped`: the time stamp of the container runtime; undefined if there is none. */
  function takeEnvelope(envelope: Envelope, number: number, stamped: Millis | undefined): LogLine {
    const { text, program, container: writer, origin } = envelope;
    const [time, timeIsExact] = timeOf(envelope, stamped, clock);
    // A collector may name its own host, which is not a Node.
    const host =
      envelope.isHostOfCollector && target.isNode?.(envelope.host ?? '') === false ? undefined : envelope.host;
    noteHost(host);
    const timeLacks = time === envelope.time ? envelope.timeLacks : undefined;
    return hand({ text, host, program, container: writer, time, timeIsExact, timeLacks }, number, origin);
  }

  function hand(record: StampedText, number: number, origin: LineOrigin): LogLine {
    const { text, time, timeIsExact, timeLacks, host, program, container: writer } = record;
    if (!timeIsExact) totals.guessedTimes++;
    lastTime = time ?? lastTime;
    const rest = { timeIsExact, timeLacks, host, program, container: writer };
    const line = { source, line: number, text, time: lastTime, ...rest };
    pipeline.take(line, origin);
    return line;
  }
}

/** The innermost stamp counts. */
function timeOf(
  envelope: Envelope,
  stamped: Millis | undefined,
  clock: StampClock,
): [time: Millis | undefined, isExact: boolean] {
  const { text, time, timeIsExact, origin } = envelope;
  if (stamped !== undefined && (time === undefined || !timeIsExact)) return [stamped, true];
  if (time !== undefined) return [time, timeIsExact];
  const own = origin === 'kernel' ? undefined : readOwnStamp(text, clock);
  return [own, own !== undefined];
}

/** Returns a function that keeps the hosts that lines name, against which `--node` is checked. */
function createHostNotes({ totals, options }: LogTarget): (host: string | undefined) => void {
  const node = options.node && shorten(options.node.toLowerCase());
  return (host) => {
    if (host === undefined || node === undefined || totals.hosts.has(host)) return;
    const isNode = shorten(host.toLowerCase()) === node;
    if (totals.hosts.size < (isNode ? maxHosts : maxHosts - 1)) totals.hosts.add(copy(host));
  };
}

/**
 * A saved log does not name its writer. If it has packets in the format of NFQUEUE, the writer is not kube-proxy, and its other lines are
 * ignored.
 */
function createPacketWriters(): (text: string, owner: LogContainer | undefined, writer: string) => boolean {
  const writers = new Set<string>();
  return (text, owner, writer) => {
    if (owner !== undefined) return true;
    const isPacket = parseNfqueue(text) !== undefined;
    if (isPacket) writers.add(writer);
    return isPacket || !writers.has(writer);
  };
}

/** Returns the container of a log below /var/log/pods, however the log is named: by a relative path, or by a link. */
function containerOfLog(source: string): LogContainer | undefined {
  if (source === '-') return undefined;
  try {
    return containerOfPath(source) ?? containerOfPath(resolve(source)) ?? containerOfPath(realpathSync(source));
  } catch {
    return undefined;
  }
}
