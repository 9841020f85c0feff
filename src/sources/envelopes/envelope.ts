import type { LogContainer, Millis } from '../../model/log-line.ts';
import type { Clock } from './clock.ts';

/** `kernel` includes ulogd. Any program may forge such lines, so `userspace` is not believed. `unknown`: the envelope does not say. */
export type Origin = 'kernel' | 'userspace' | 'unknown';

export type Envelope = ReturnType<typeof newEnvelope>;

export function newEnvelope(text: string) {
  return {
    text,
    time: undefined as Millis | undefined,
    timeIsExact: true,
    host: undefined as string | undefined,
    origin: 'unknown' as Origin,
    program: undefined as string | undefined,
    /** The container that a record around the line names. */
    container: undefined as LogContainer | undefined,
    /** The names of the layers that were removed, outermost first. */
    layers: [] as string[],
  };
}

/** Sets the time, unless an outer layer has set it exactly. Outer stamps are the log daemon's; inner ones are the application's. */
export function setTime(envelope: Envelope, time: Millis | undefined, exact = true): void {
  if (envelope.time !== undefined && (envelope.timeIsExact || !exact)) return;
  if (time === undefined || !(Math.abs(time) <= 8.64e15)) return;
  envelope.time = time;
  envelope.timeIsExact = exact;
}

export function takeOff(envelope: Envelope, length: number, layer: string): void {
  envelope.text = envelope.text.slice(length);
  envelope.layers.push(layer);
}

/** Matches `prio,seq,µs since boot,flags[,more];text` (Linux Documentation/ABI/testing/dev-kmsg). */
const record = /^(\d{1,10}),(\d{1,20}),(\d{1,20}),[^;,]*(?:,[^;]*)?;/;
const escape = /\\x([0-9a-fA-F]{2})/g;

const kmsgLayer = 'kmsg record';

export function readKmsg(envelope: Envelope, clock: Clock): boolean {
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

/** What follows a syslog stamp, but never a LOG prefix: `node-a kernel: `, `node-a kube-proxy[123]: `, `kernel: `, `node-a ` (ulogd). */
export function readHost(envelope: Envelope): void {
  const { text } = envelope;
  if (text.startsWith(kernelTag)) return takeKernel(envelope, 0);
  if (envelope.host !== undefined) return;
  if (facility.test(text)) return takeProgram(envelope);
  const space = text.indexOf(' ');
  if (space <= 0) return;
  if (text.startsWith(kernelTag, space + 1)) {
    envelope.host = text.slice(0, space);
    return takeKernel(envelope, space + 1);
  }
  takeProgram(envelope);
  if (envelope.text !== text) return;
  const token = text.slice(0, space);
  if (token.endsWith(':') || token.endsWith(']') || !hostName.test(token)) return;
  envelope.host = token;
  envelope.text = text.slice(space + 1);
  takeProgram(envelope);
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
  if (program !== undefined || (layers.length > 0 && !(origin === 'userspace' && layers.at(-1) === kmsgLayer))) return;
  const tag = programWithPid.exec(text);
  if (tag === null || text.startsWith('IN=', tag[0].length)) return;
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
