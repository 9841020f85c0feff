/** Finds the sources of the kernel's lines, and reads the latest lines of each. No function here rejects. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Config, SourceSetting } from '../../agent/config/config.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { isKernelMessage, knownTexts, type PrefixTable } from '../../read/parsing/parsing.ts';
import { observe } from '../../count/pipeline/pipeline.ts';
import { createClock, type Envelope, readEnvelope, zoneTime } from '../../read/sources/reading.ts';
import { type KernelSource, kmsgDevice, readKmsgRecord, recordSize } from '../../read/sources/sources.ts';
import { monotonicNow } from '../../base/platform/clock.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import type { Machine } from './machine.ts';

export interface LoggedPacket {
  prefix: string;
  verdict: PacketObservation['verdict'];
  time: Millis;
  /** The program that logged the packet; undefined for a LOG or NFLOG rule. */
  record?: string;
}

/** The kernel's latest lines in one source. */
export interface KernelLog {
  lines: number;
  from: Millis | undefined;
  last: Millis | undefined;
  packets: readonly LoggedPacket[];
}

export interface KernelSourceState {
  name: string;
  /** The source in words for a person. */
  text: string;
  /** False if the kernel's log may not be there, but nothing better can be read. */
  isCertain: boolean;
  /** Undefined if nothing can be read. */
  log: KernelLog | { reason: string } | undefined;
  /** Whether the agent takes the kernel's lines from this source; undefined if there is only one. */
  gives?: boolean | undefined;
  /** Which of UNITS have records in the journal, for a person. */
  units: string | undefined;
}

export type KernelSetting =
  | Extract<SourceSetting, { kind: 'journal' | 'file' }>
  | { kind: 'auto' }
  | { kind: 'kernel' };

/** Writes a setting as in SOURCES. */
export function sourceName(setting: SourceSetting): string {
  if (setting.kind === 'file') return `file:${setting.path}`;
  if (setting.kind === 'program') return `program:${setting.program}=${setting.path}`;
  const { kind } = setting;
  return 'directory' in setting && setting.directory !== undefined ? `${kind}:${setting.directory}` : kind;
}

export async function lookAtKernelSources(
  settings: readonly KernelSetting[],
  config: Pick<Config, 'timeZone' | 'units'>,
  prefixes: PrefixTable,
  machine: Machine,
): Promise<KernelSourceState[]> {
  const looks = await Promise.all(settings.map((each) => lookAtKernelSource(each, config, prefixes, machine)));
  if (looks.length < 2) return looks;
  const { choose, pickSource } = machine;
  const sources = settings.map((setting) => {
    if (setting.kind !== 'auto') return setting;
    const { source } = choose();
    return source === undefined || source.kind === 'ring' ? ({ kind: 'kernel' } as const) : source;
  });
  const kernelSource = JSON.stringify(pickSource(sources));
  return looks.map((look, index) => Object.assign(look, { gives: JSON.stringify(sources[index]) === kernelSource }));
}

export async function lookAtKernelSource(
  setting: KernelSetting,
  config: Pick<Config, 'timeZone' | 'units'>,
  prefixes: PrefixTable,
  machine: Machine,
): Promise<KernelSourceState> {
  const { source, ...where } = locate(setting, machine);
  const read = source && readKernelLog(source, config, prefixes, machine);
  const units = source?.kind === 'journal' ? findUnits(source.directory, config.units, machine) : undefined;
  return { name: sourceName(setting), ...where, log: await read, units: await units };
}

type KernelLogPlace = Pick<KernelSourceState, 'text' | 'isCertain'> & { source: KernelSource | undefined };

function locate(setting: KernelSetting, { choose, findJournal }: Machine): KernelLogPlace {
  switch (setting.kind) {
    case 'auto': {
      const choice = choose();
      return { ...choice, text: choice.text.replaceAll('\n', ' ') };
    }
    case 'journal': {
      const found = findJournal(setting.directory);
      return 'reason' in found
        ? { source: undefined, text: `no journal can be read: ${found.reason}`, isCertain: true }
        : { source: { kind: 'journal', ...found }, text: found.directory, isCertain: true };
    }
    case 'file':
      return { source: { kind: 'file', path: setting.path }, text: setting.path, isCertain: true };
    case 'kernel':
      return { source: { kind: 'ring', path: '/dev/kmsg' }, text: '/dev/kmsg', isCertain: true };
    default:
      return setting satisfies never;
  }
}

async function findUnits(directory: string, names: readonly string[], { run }: Machine): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  const args = ['--quiet', '--no-pager', `--directory=${directory}`, '--field=_SYSTEMD_UNIT'];
  const ran = await run('journalctl', args);
  if (ran.kind !== 'done') return undefined;
  const there = new Set(ran.output.split('\n'));
  const found = names.filter((name) => there.has(name));
  return found.length === 0 ? 'no records of UNITS' : `records of ${found.join(', ')}`;
}

/** How many bytes are read from the end of a file: some five thousand lines. */
const reach = 1024 * 1024;
const journalOptions = ['--output=json', '--all', '--merge', '--quiet', '--no-pager', '--lines=5000'];

async function readKernelLog(
  source: KernelSource,
  { timeZone }: Pick<Config, 'timeZone'>,
  prefixes: PrefixTable,
  { run, now }: Machine,
): Promise<KernelLog | { reason: string }> {
  const latest = now();
  // Times in the ring buffer count from boot, and do not include sleep.
  const boot = source.kind === 'ring' ? latest - monotonicNow() : undefined;
  const stamps = { latest, zone: zoneTime(timeZone), boot };
  try {
    switch (source.kind) {
      case 'file':
        return understand(tailOf(source.path), prefixes, stamps);
      case 'ring':
        return understand(recordsOf(source.path), prefixes, stamps);
      case 'journal': {
        const ran = await run('journalctl', [
          ...journalOptions,
          `--directory=${source.directory}`,
          '_TRANSPORT=kernel',
        ]);
        if (ran.kind === 'missing') return { reason: 'there is no journalctl in this image' };
        if (ran.kind === 'failed') return { reason: ran.reason };
        return understand(ran.output.split('\n'), prefixes, stamps);
      }
      default:
        return source satisfies never;
    }
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function understand(
  lines: readonly string[],
  prefixes: PrefixTable,
  stamps: Parameters<typeof createClock>[0] & { latest: Millis },
): KernelLog {
  const clock = createClock(stamps);
  const log: Omit<KernelLog, 'packets'> = { lines: 0, from: undefined, last: undefined };
  const packets: KernelLog['packets'][number][] = [];
  for (const line of lines) {
    const envelope = readEnvelope(line, clock, knownTexts);
    for (const each of [envelope, ...envelope.more]) take(each);
  }
  return { ...log, packets };

  function take({ text, time = log.last, origin, program, container }: Envelope): void {
    const observation = observe({ source: '', text, program, container }, origin, prefixes);
    const isPacket = observation?.kind === 'packet';
    // Any program may write to a log file, so only packets count there.
    if (origin !== 'kernel' && !isPacket) return;
    log.lines++;
    log.from ??= time;
    log.last = time;
    // Other messages of the kernel may quote names that tenants choose, and such a name may look like a packet.
    if (!isPacket || isKernelMessage(observation.prefix)) return;
    const { prefix, verdict, logger } = observation;
    const record = logger === 'netfilter' || logger === 'ulogd' ? {} : { record: logger };
    packets.push({ prefix, verdict, time: time ?? stamps.latest, ...record });
  }
}

function tailOf(path: string): string[] {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error('is not a regular file');
    const { size } = stat;
    const buffer = Buffer.alloc(Math.min(size, reach));
    const length = readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    const lines = buffer.toString('latin1', 0, length).split('\n');
    return size > reach ? lines.slice(1) : lines;
  } finally {
    closeSync(fd);
  }
}

function recordsOf(path: string): string[] {
  const fd = kmsgDevice.open(path);
  const buffer = Buffer.alloc(recordSize);
  const records: string[] = [];
  try {
    for (;;) {
      const outcome = readKmsgRecord(kmsgDevice, fd, buffer);
      if (outcome === 'again') continue;
      if (outcome === 'empty') return records;
      if (typeof outcome === 'object') throw outcome.error;
      // The first line is the message. Further lines say which device it is about.
      records.push(buffer.toString('latin1', 0, outcome).split('\n', 1)[0] ?? '');
    }
  } finally {
    kmsgDevice.close(fd);
  }
}

/** Takes the log with the most packets from rules, and only those. Logs are not added up, because they may have the same lines. */
export function latestLines(sources: readonly KernelSourceState[]): KernelLog | undefined {
  const readable = sources.flatMap(({ log }) => (log === undefined || 'reason' in log ? [] : [log]));
  const ofRules = readable.map(({ packets, ...log }) =>
    Object.assign(log, { packets: packets.filter(({ record }) => record === undefined) }),
  );
  return ofRules.toSorted((a, b) => b.packets.length - a.packets.length || b.lines - a.lines)[0];
}
