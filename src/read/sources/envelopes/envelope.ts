import { hasKlogHeader } from '../../../base/log-formats/go-loggers.ts';
import type { LogContainer, Millis, MissingInStamp } from '../../../base/model/log-line.ts';
import type { StampClock } from './clock.ts';

/**
 * `kernel` includes ulogd. Any program may forge such lines, so `userspace` is not believed. `pod`: the line belongs to a Pod whose
 * container only the person who saved it knows, so it is not the kernel's. `unknown`: the envelope names no writer.
 */
export type Origin = 'kernel' | 'userspace' | 'pod' | 'unknown';

export interface Envelope {
  text: string;
  time: Millis | undefined;
  timeIsExact: boolean;
  timeLacks: MissingInStamp | undefined;
  host: string | undefined;
  /** A collector has named the host, which may be its own. */
  isHostOfCollector: boolean;
  origin: Origin;
  program: string | undefined;
  /** The container that a record around the line names. */
  container: LogContainer | undefined;
  /** Identifies the writer among others in the log, so that the lines of its records can be joined. */
  writer: string;
  /** The blanks before the text, which may show that it continues a record. */
  indent: string;
  /** The names of the layers that were removed, outermost first. */
  layers: string[];
  /** Further lines, if one of JSON contains several. */
  more: readonly Envelope[];
}

export function newEnvelope(text: string): Envelope {
  return {
    text,
    time: undefined,
    timeIsExact: true,
    timeLacks: undefined,
    host: undefined,
    isHostOfCollector: false,
    origin: 'unknown',
    program: undefined,
    container: undefined,
    writer: '',
    indent: '',
    layers: [],
    more: [],
  };
}

export function copyOf(envelope: Envelope): Envelope {
  return { ...envelope, layers: [...envelope.layers] };
}

/**
 * Sets the time. If several are exact, the innermost counts, because outer ones are of relays and collectors. Once the writer is known,
 * further stamps belong to its text.
 */
export function setTime(envelope: Envelope, time: Millis | undefined, exact = true, lacks?: MissingInStamp): void {
  const isOver = envelope.origin === 'kernel' || envelope.origin === 'userspace';
  if (envelope.time !== undefined && (!exact || (envelope.timeIsExact && isOver))) return;
  if (time === undefined || !(Math.abs(time) <= 8.64e15)) return;
  envelope.time = time;
  envelope.timeIsExact = exact;
  envelope.timeLacks = lacks;
}

export function takeOff(envelope: Envelope, length: number, layer: string): void {
  envelope.text = envelope.text.slice(length);
  envelope.layers.push(layer);
}

/** Matches `prio,seq,µs since boot,flags[,more];text` (Linux Documentation/ABI/testing/dev-kmsg). */
const record = /^(\d{1,10}),(\d{1,20}),(\d{1,20}),[^;,]*(?:,[^;]*)?;/;
const escape = /\\x([0-9a-fA-F]{2})/g;

const kmsgLayer = 'kmsg record';

export function readKmsg(envelope: Envelope, clock: StampClock): boolean {
  const found = record.exec(envelope.text);
  if (!found) return false;
  // Any program may write to /dev/kmsg, but only the kernel with facility 0. An outer origin stays, because any program may write a text
  // that looks like a record.
  if (Number(found[1]) >>> 3 !== 0) envelope.origin = 'userspace';
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  const { time, exact } = clock.sinceBoot(Number(found[3]) / 1e6);
  setTime(envelope, time, exact);
  const text = envelope.text.slice(found[0].length);
  envelope.text = text.includes('\\x')
    ? text.replace(escape, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
  envelope.layers.push(kmsgLayer);
  return true;
}

const hostName = /^[A-Za-z0-9_][A-Za-z0-9._:%-]*$/;
/** Matches `kube-proxy[12085]:`. The number distinguishes a program from a LOG prefix such as `calico-drop:`. */
const programWithPid = /^([A-Za-z0-9_.+/-]+)\[\d+\]: ?/;
/** Matches facility and severity in busybox syslogd and OpenWrt: `kern.warn kernel: `. */
const facility = /^([a-z0-9]{2,8})\.[a-z]{3,7} (?=\S+: )/;
const kernelTag = 'kernel: ';

export function readKernelTag(envelope: Envelope): void {
  if (envelope.text.startsWith(kernelTag)) takeKernel(envelope, 0);
}

/** Matches a second stamp without a host, in a line that a collector has stamped. */
const beginsRecord = /^(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)/;

/** Matches text that follows a syslog stamp, but never a LOG prefix: `node-a kernel: `, `node-a kube-proxy[123]: `, `kernel: `, `node-a ` (ulogd). */
export function readHost(envelope: Envelope): void {
  const { text } = envelope;
  if (text.startsWith(kernelTag)) return takeKernel(envelope, 0);
  if (beginsRecord.test(text) || hasKlogHeader(text)) return;
  if (envelope.host !== undefined && !envelope.isHostOfCollector) return readNamedHost(envelope);
  if (facility.test(text)) return takeProgram(envelope);
  const space = text.indexOf(' ');
  if (space <= 0) return;
  if (text.startsWith(kernelTag, space + 1)) {
    setHost(envelope, text.slice(0, space));
    return takeKernel(envelope, space + 1);
  }
  takeProgram(envelope);
  if (envelope.text !== text) return;
  const token = text.slice(0, space);
  if (token.endsWith(':') || token.endsWith(']') || !hostName.test(token)) return;
  setHost(envelope, token);
  // A record may follow the host of a collector, or the name of its stream.
  envelope.isHostOfCollector = text.startsWith('{', space + 1);
  envelope.text = text.slice(space + 1);
  takeProgram(envelope);
}

/** Matches a host only where the kernel or a program with a number follows, because otherwise it may be a LOG prefix. */
const namedHost = /^([A-Za-z0-9_][A-Za-z0-9._:%-]{0,254}) (?=kernel: |[A-Za-z0-9_.+/-]{1,256}\[\d{1,10}\]: )/;

/** Reads the host after a second stamp, in a line that a relay has passed on, and after the uptime of `journalctl -o short-monotonic`. */
export function readNamedHost(envelope: Envelope): void {
  if (envelope.origin !== 'unknown') return;
  const found = namedHost.exec(envelope.text);
  if (found === null) return;
  setHost(envelope, found[1] as string);
  envelope.text = envelope.text.slice(found[0].length);
  takeProgram(envelope);
}

function setHost(envelope: Envelope, host: string): void {
  envelope.host = host;
  envelope.isHostOfCollector = false;
}

function takeProgram(envelope: Envelope): void {
  const named = facility.exec(envelope.text);
  if (named) {
    envelope.text = envelope.text.slice(named[0].length);
    if (named[1] !== 'kern') envelope.origin = 'userspace';
  }
  if (envelope.text.startsWith(kernelTag)) return takeKernel(envelope, 0);
  const program = programWithPid.exec(envelope.text);
  if (!program) return;
  envelope.writer += program[0];
  setProgram(envelope, program[1]);
  envelope.text = envelope.text.slice(program[0].length);
}

function takeKernel(envelope: Envelope, at: number): void {
  envelope.text = envelope.text.slice(at + kernelTag.length);
  // An outer layer decides: a container that prints `kernel: …` is not the kernel.
  if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  envelope.layers.push('kernel tag');
}

/** Reads `sshd[123]: ` without a time (some log daemons, writers to /dev/kmsg). Directly before a packet, such a text is a LOG prefix. */
export function readTag(envelope: Envelope): void {
  const { layers, origin, program, text } = envelope;
  const last = layers.at(-1);
  const isFirst = last === undefined || last === 'prefix' || last.endsWith('JSON');
  if (program !== undefined || !(isFirst || (origin === 'userspace' && last === kmsgLayer))) return;
  const tag = programWithPid.exec(text);
  if (tag === null || text.startsWith('IN=', tag[0].length)) return;
  envelope.writer += tag[0];
  setProgram(envelope, tag[1]);
  envelope.text = text.slice(tag[0].length);
}

/** Sets the program. Lines of ulogd count as the kernel's, because it gets its packets from the kernel by netlink. */
export function setProgram(envelope: Envelope, program: string | undefined): void {
  // A program may begin its message with another's name, even in /dev/kmsg.
  const isOutermost = envelope.program === undefined && !envelope.layers.includes(kmsgLayer);
  // The outermost name is the log daemon's, and inner ones are the program's.
  envelope.program ??= program;
  if (program === 'ulogd' || program === 'ulogd2') {
    // Ignore a priority before it, because its facility is not the kernel's.
    if (isOutermost) envelope.origin = 'kernel';
  } else if (program !== 'kernel') envelope.origin = 'userspace';
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  envelope.layers.push('program');
}
