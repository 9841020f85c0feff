import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import type { PacketObservation } from '../../model/packet.ts';
import { isKernelMessage, type PrefixTable } from '../../parsing/netfilter/prefixes.ts';
import { observe } from '../../pipeline/decision.ts';
import type { KernelSource } from '../../sources/auto.ts';
import type { ToInstant } from '../../log-formats/rfc3339.ts';
import { createClock } from '../../sources/envelopes/clock.ts';
import { readEnvelope } from '../../sources/envelopes/read-envelope.ts';
import { kmsgDevice, readRecord, recordSize } from '../../sources/kmsg/device.ts';
import { monotonicNow } from '../../platform/clock.ts';
import { reasonOf } from '../../platform/system-error.ts';
import type { RunProgram } from './program.ts';

/** The latest lines of the kernel, as one source has them. */
export interface KernelLog {
  lines: number;
  /** Of the first and the last line. */
  from: Millis | undefined;
  last: Millis | undefined;
  packets: readonly { prefix: string; verdict: PacketObservation['verdict']; rule: string; time: Millis }[];
}

export interface ReadKernelLogOptions {
  source: KernelSource | { kind: 'journal'; directory: undefined };
  prefixes: PrefixTable;
  zone: ToInstant;
  run: RunProgram;
  now: () => Millis;
}

/** Bytes at the end of a file: some five thousand lines. */
const reach = 1024 * 1024;
/** Of the journal. */
const maxRecords = 5000;

/** Never rejects; the reason why nothing can be read is for a person. */
export async function readKernelLog(options: ReadKernelLogOptions): Promise<KernelLog | { reason: string }> {
  const { source, run, now } = options;
  try {
    switch (source.kind) {
      case 'file':
        return understand(tailOf(source.path), options, undefined);
      case 'ring':
        // Stamps count from the boot, sleep left out.
        return understand(recordsOf(source.path), options, now() - monotonicNow());
      case 'journal': {
        const place = source.directory === undefined ? [] : [`--directory=${source.directory}`];
        const ran = await run('journalctl', [...journalOptions, ...place, '_TRANSPORT=kernel']);
        if (ran.kind === 'missing') return { reason: 'there is no journalctl in this image' };
        return ran.kind === 'failed' ? { reason: ran.reason } : understand(ran.output.split('\n'), options, undefined);
      }
      default:
        return source satisfies never;
    }
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

const journalOptions = ['--output=json', '--all', '--merge', '--quiet', '--no-pager', `--lines=${maxRecords}`];

function understand(
  lines: readonly string[],
  { prefixes, zone, now }: ReadKernelLogOptions,
  boot: Millis | undefined,
): KernelLog {
  const clock = createClock({ latest: now(), zone, boot });
  const log = { lines: 0, from: undefined as Millis | undefined, last: undefined as Millis | undefined };
  const packets: KernelLog['packets'][number][] = [];
  for (const line of lines) {
    const { text, time = log.last, origin, program } = readEnvelope(line, clock);
    const observation = observe({ source: '', text, program }, origin, prefixes);
    const isPacket = observation?.kind === 'packet';
    // A file may have everybody's lines.
    if (origin !== 'kernel' && !isPacket) continue;
    log.lines++;
    log.from ??= time;
    log.last = time;
    if (isPacket && mayBeOfRule(observation, text)) {
      const { prefix, verdict, prefixRule: rule } = observation;
      packets.push({ prefix, verdict, rule, time: time ?? now() });
    }
  }
  return { ...log, packets };
}

/**
 * The beginning of what a LOG rule prints after its prefix (Linux net/netfilter/nf_log_syslog.c; ulogd prints it, too), and each word
 * of the rest. Nothing else follows, but after a name that a program has chosen the kernel goes on: `[400000+1000]`, `,mems_allowed=0`.
 */
const beginning =
  /^.{0,255}?IN=\S{0,15} (?:OUT=\S{0,15} )?(?:(?:PHYS|MAC|V|TUNNEL)\w*=\S* )*(?:ARP HTYPE=|SRC=[\da-f.:]+ DST=[\da-f.:]+ LEN=\d+ (?:TOS=\w+ PREC=\w+ TTL=\d+ ID=\d+|TC=\d+ HOPLIMIT=\d+ FLOWLBL=\d+) )/;
const word = /^[[(]?(?:[A-Z][A-Z\d]*(?:[=:][\w.:-]*)?|[\dA-F]*)[\])]?$/;

/** Whether a rule may have printed the line. Others only look so: the kernel quotes names that tenants choose. */
function mayBeOfRule({ logger, prefix }: PacketObservation, text: string): boolean {
  if (logger !== 'netfilter') return true;
  const [header] = beginning.exec(text) ?? [];
  if (header === undefined || isKernelMessage(prefix)) return false;
  const rest = text.slice(header.length).replaceAll(/INCOMPLETE \[\d+ bytes\]/g, '');
  return rest.split(' ').every((each) => word.test(each));
}

function tailOf(path: string): string[] {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error('is no regular file');
    const { size } = stat;
    const buffer = Buffer.alloc(Math.min(size, reach));
    const lines = buffer
      .toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, size - buffer.length))
      .split('\n');
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
      const outcome = readRecord(kmsgDevice, fd, buffer);
      if (outcome === 'again') continue;
      if (outcome === 'empty') return records;
      if (typeof outcome === 'object') throw outcome.error;
      // What follows the first line is about devices.
      records.push(buffer.toString('latin1', 0, outcome).split('\n', 1)[0] ?? '');
    }
  } finally {
    kmsgDevice.close(fd);
  }
}
