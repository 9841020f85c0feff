import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import type { Millis } from '../../base/model/log-line.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import { createClock } from './envelopes/clock.ts';
import { readEnvelope } from './envelopes/read-envelope.ts';
import { adviceOn, type Device, kmsgDevice, readKmsgRecord, recordSize } from './kmsg/device.ts';
import { siblingsOf } from './tail/siblings.ts';

export type KernelSource =
  | { kind: 'journal'; directory: string }
  | { kind: 'file'; path: string }
  | { kind: 'ring'; path: string };

export interface KernelChoice {
  source: KernelSource | undefined;
  /** False if the kernel's log may not be there, but nothing better can be read. */
  isCertain: boolean;
  /** Names the choice and the reasons against the others, or the advice. */
  text: string;
}

export interface KernelChoiceOptions {
  journal: (directory?: string) => { directory: string } | { reason: string };
  /** Whether that journal has a record of the kernel of this boot. Default: unknown, and then the journal is trusted. */
  kernelRecords?: (directory: string) => boolean | undefined;
  /** Where the node's root is mounted, such as `/host`. Default: the container has the node's folders at their usual places. */
  root?: string;
  wall?: () => Millis;
  booted?: () => Millis;
  device?: Device;
}

/** The files of rsyslog and syslog-ng: on Debian, on Red Hat and SUSE, and on systems with one file for everything; of Talos 1.12 and newer. */
const logs = ['/var/log/kern.log', '/var/log/messages', '/var/log/syslog', '/var/log/kernel.log'];
/** If the kernel has logged nothing for this long, it probably logs elsewhere. */
const maxSilence: Millis = 7 * 86_400_000;
/** Tolerance for the boot time, because clocks are often corrected only after the boot. */
const bootSlack: Millis = 60_000;
/** Tolerance for stamps without a zone, because they may be in any zone. */
const zoneSlack: Millis = 15 * 3_600_000;

/**
 * Chooses a journal that has a record of the kernel of this boot, else a trusted log file, else the ring buffer, else a journal without such
 * a record, else a doubtful log file. A file is trusted if the kernel's last line
 * in it is of this boot and at most seven days old. A doubtful file may be left over from an image or a log daemon, lack the kernel's
 * lines, or have just been rotated. A file without the kernel's lines to which nobody writes is not used.
 */
export function chooseKernelSource(looks: KernelChoiceOptions): KernelChoice {
  const { root = '' } = looks;
  const floor = floorOf(looks);
  const passed: string[] = [];

  const journal = looks.journal();
  const doubt = 'reason' in journal ? journal.reason : doubtOfJournal(journal.directory, looks);
  if ('directory' in journal && doubt === undefined)
    return chosen({ kind: 'journal', directory: journal.directory }, `the journal in ${journal.directory}`, []);
  passed.push(`no journal: ${doubt}`);

  const uncertain: { path: string; reason: string; hasKernel: boolean }[] = [];
  for (const path of logs.map((log) => join(root, log))) {
    const traces = tracesOfKernel(path);
    if ('reason' in traces) {
      passed.push(`${path}: ${traces.reason}`);
      continue;
    }
    const reason = doubtOf(traces, floor);
    if (reason === undefined) return chosen({ kind: 'file', path }, path, passed);
    passed.push(`${path}: ${reason}`);
    const hasKernel = traces.kernel !== undefined;
    if (hasKernel || traces.written >= floor) uncertain.push({ path, reason, hasKernel });
  }

  const ring = lookAtRing(root, looks.device ?? kmsgDevice);
  if ('path' in ring) return chosen({ kind: 'ring', path: ring.path }, ring.path, passed);

  const nothingBetter = `nothing better can be read (${passed.slice(1).join('; ')}; /dev/kmsg: ${ring.reason})`;
  if ('directory' in journal)
    return {
      source: { kind: 'journal', directory: journal.directory },
      isCertain: false,
      text: `reading the journal in ${journal.directory} for lines of the kernel, though ${doubt}: ${nothingBetter}. If journald does not read the kernel's log, nothing will be seen`,
    };

  const best = uncertain.find(({ hasKernel }) => hasKernel) ?? uncertain[0];
  if (best === undefined)
    return { source: undefined, isCertain: false, text: helpWith(journal.reason, passed, root, ring) };
  const others = passed.filter((reason) => !reason.startsWith(`${best.path}: `));
  return {
    source: { kind: 'file', path: best.path },
    isCertain: false,
    text:
      `reading the kernel's log from ${best.path}, though ${best.reason}: nothing better can be read (${others.join('; ')}; ` +
      `/dev/kmsg: ${ring.reason}). If the node's log daemon does not write the kernel's lines there, nothing will be seen`,
  };
}

export type ConfiguredKernelSource =
  | { kind: 'journal'; directory?: string | undefined }
  | { kind: 'file'; path: string }
  | { kind: 'kernel' };

/** The first source that certainly has the kernel's lines; without one, the first file, which may get them; without a file, the first source. */
export function pickKernelSource<Each extends ConfiguredKernelSource>(
  sources: readonly Each[],
  looks: KernelChoiceOptions,
): Each | undefined {
  if (sources.length < 2) return sources[0];
  const trusts = sources.map((source) => trustIn(source, looks));
  const best = trusts.includes('sure') ? 'sure' : trusts.includes('doubtful') ? 'doubtful' : 'none';
  return sources[trusts.indexOf(best)];
}

function trustIn(source: ConfiguredKernelSource, looks: KernelChoiceOptions): 'sure' | 'doubtful' | 'none' {
  switch (source.kind) {
    case 'journal': {
      const journal = looks.journal(source.directory);
      if ('reason' in journal) return 'none';
      return doubtOfJournal(journal.directory, looks) === undefined ? 'sure' : 'doubtful';
    }
    case 'kernel':
      return whyNotRing('/dev/kmsg', looks.device ?? kmsgDevice) === undefined ? 'sure' : 'none';
    case 'file': {
      // A file that is missing may be between two rotations.
      const traces = tracesOfKernel(source.path);
      return !('reason' in traces) && doubtOf(traces, floorOf(looks)) === undefined ? 'sure' : 'doubtful';
    }
    default:
      return source satisfies never;
  }
}

function doubtOfJournal(directory: string, { kernelRecords }: KernelChoiceOptions): string | undefined {
  return kernelRecords?.(directory) === false ? `${directory} has no record of the kernel since this boot` : undefined;
}

function floorOf({ wall = Date.now, booted = () => wall() - uptime() * 1000 }: KernelChoiceOptions): Millis {
  return Math.max(booted() - bootSlack, wall() - maxSilence);
}

function chosen(source: KernelSource, name: string, passed: readonly string[]): KernelChoice {
  const why = passed.length === 0 ? '' : ` (${passed.join('; ')})`;
  return { source, isCertain: true, text: `reading the kernel's log from ${name}${why}` };
}

function doubtOf({ written, kernel, isEmpty }: Traces, floor: Millis): string | undefined {
  if (kernel !== undefined) {
    const isAlive = kernel.written >= floor && kernel.time >= floor - zoneSlack;
    if (isAlive) return undefined;
    const last = new Date(Math.min(kernel.time, kernel.written)).toISOString();
    return `the kernel's last line in it is of ${last.slice(0, 16).replace('T', ' ')} UTC`;
  }
  if (isEmpty) return 'it is empty';
  return written >= floor ? "none of its last lines is the kernel's" : 'nobody writes to it any more';
}

/** If only the node's /var/log is mounted below the root, a privileged container has the device at its usual place. */
function lookAtRing(root: string, device: Device): { path: string } | { reason: string } {
  const [path, usual] = [join(root, '/dev/kmsg'), '/dev/kmsg'];
  const reason = whyNotRing(path, device);
  if (reason === undefined) return { path };
  if (path === usual) return { reason };
  const other = whyNotRing(usual, device);
  return other === undefined ? { path: usual } : { reason: other };
}

/** The ring buffer is never empty, so a path without a record is a link to a console, or a folder created by a mount. */
function whyNotRing(path: string, device: Device): string | undefined {
  let fd: number | undefined;
  try {
    fd = device.open(path);
    const buffer = Buffer.alloc(recordSize);
    for (let reads = 0; reads < 100; reads++) {
      const outcome = readKmsgRecord(device, fd, buffer);
      if (outcome === 'again') continue;
      if (typeof outcome === 'object') return adviceOn(outcome.error);
      const isRecord = outcome !== 'empty' && /^\d{1,10},\d{1,16},\d{1,16}[,;]/.test(buffer.toString('latin1', 0, 64));
      return isRecord ? undefined : "it is not the kernel's ring buffer. The container must be privileged to have it";
    }
    return 'it is overwritten faster than it can be read';
  } catch (error) {
    return adviceOn(error);
  } finally {
    if (fd !== undefined) device.close(fd);
  }
}

function helpWith(journal: string, passed: readonly string[], root: string, ring: { reason: string }): string {
  const folder = join(root, '/var/log');
  return [
    "the kernel's log is nowhere to be read. One of these is needed:",
    `- the journal (${journal}): an image with journalctl, and the node's /var/log/journal or /run/log/journal mounted read-only;`,
    `- a log file (${passed.slice(1).join('; ')}): the node's /var/log mounted read-only at ${folder}, and a log daemon on the node ` +
      "that writes the kernel's lines there; another file is named by SOURCES=file:PATH;",
    `- /dev/kmsg: ${ring.reason}`,
  ].join('\n');
}

interface Traces {
  written: Millis;
  isEmpty: boolean;
  /** The kernel's last line in this file or in the one it was rotated from, and when that file was last written. */
  kernel: { time: Millis; written: Millis } | undefined;
}

/** How many bytes at the end of a file are read. If everything goes into one file, the kernel's lines may be far apart. */
const reach = 1024 * 1024;

function tracesOfKernel(path: string): Traces | { reason: string } {
  const live = lookAtEnd(path);
  if ('reason' in live || live.kernel !== undefined) return live;
  const previous = siblingsOf(path).findLast(({ isPacked }) => !isPacked);
  const before = previous === undefined ? undefined : lookAtEnd(previous.path);
  return before === undefined || 'reason' in before ? live : { ...live, kernel: before.kernel };
}

function lookAtEnd(path: string): Traces | { reason: string } {
  let fd: number | undefined;
  try {
    // Opening a pipe or a device can change it, so the kind of file is checked first.
    if (!statSync(path).isFile()) return { reason: 'it is not a regular file' };
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size, mtimeMs: written } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, reach));
    const text = buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, size - buffer.length));
    const time = lastOfKernel(text, size > reach, written);
    return { written, isEmpty: size === 0, kernel: time === undefined ? undefined : { time, written } };
  } catch (error) {
    return { reason: reasonOf(error) };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function lastOfKernel(text: string, isCut: boolean, written: Millis): Millis | undefined {
  const clock = createClock({ latest: written });
  for (let at = text.length; at >= 0;) {
    // Talos writes `kern: warning: …`, others `kernel: …`.
    const found = text.lastIndexOf('kern', at);
    if (found < 0) return undefined;
    const start = text.lastIndexOf('\n', found) + 1;
    if (start === 0 && isCut) return undefined;
    const end = text.indexOf('\n', found);
    const { origin, time, layers } = readEnvelope(text.slice(start, end < 0 ? text.length : end), clock);
    if (origin === 'kernel' || (origin === 'unknown' && layers.includes('talosctl dmesg'))) return time ?? written;
    at = start - 1;
  }
  return undefined;
}
