import { type Envelope, kmsgLayer } from './envelope.ts';

const hostName = /^[A-Za-z0-9_][A-Za-z0-9._:%-]*$/;
/** `kube-proxy[12085]:`, `systemd[1]:`, `sshd:`; the number distinguishes a program from a LOG prefix such as `calico-drop:`. */
const programWithPid = /^([A-Za-z0-9_.+/-]+)\[\d+\]: ?/;
/** busybox syslogd and OpenWrt name facility and severity: `kern.warn kernel: `. */
const facility = /^([a-z0-9]{2,8})\.[a-z]{3,7} (?=\S+: )/;
const kernelTag = 'kernel: ';

export function readKernelTag(envelope: Envelope): void {
  if (envelope.text.startsWith(kernelTag)) takeKernel(envelope, 0);
}

/** After a syslog stamp: `node-a kernel: `, `node-a kube-proxy[123]: `, `kernel: `, `node-a ` (ulogd); never a LOG prefix. */
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
  // An outer layer says otherwise: a container that prints `kernel: …` is not the kernel.
  if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  envelope.layers.push('kernel tag');
}

/** `sshd[123]: ` without a time before it, from some log daemons or to /dev/kmsg. With the packet right behind, a LOG prefix. */
export function readTag(envelope: Envelope): void {
  const { layers, origin, program, text } = envelope;
  if (program !== undefined || (layers.length > 0 && !(origin === 'userspace' && layers.at(-1) === kmsgLayer))) return;
  const tag = programWithPid.exec(text);
  if (tag === null || text.startsWith('IN=', tag[0].length)) return;
  setProgram(envelope, tag[1]);
  envelope.text = text.slice(tag[0].length);
}

/** ulogd gets its packets from the kernel by netlink, so its lines count as the kernel's. */
export function setProgram(envelope: Envelope, program: string | undefined): void {
  // A program, or one that writes to /dev/kmsg, may begin its message with the name of another.
  const isOutermost = envelope.program === undefined && !envelope.layers.includes(kmsgLayer);
  // The outermost name is the log daemon's word, further ones are the writer's own.
  envelope.program ??= program;
  if (program === 'ulogd' || program === 'ulogd2') {
    // Its facility is not the kernel's, so a priority before it says nothing against it.
    if (isOutermost) envelope.origin = 'kernel';
  } else if (program !== 'kernel') envelope.origin = 'userspace';
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  envelope.layers.push('program');
}
