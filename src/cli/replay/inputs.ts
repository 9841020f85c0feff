/** Decides which logs `replay` reads, in which order, and which part of them is counted and shown. */
import { fstatSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { CoreEvent } from '../../publish/events/events.ts';
import type { Endpoint, Ends } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Pipeline } from '../../count/pipeline/pipeline.ts';
import {
  type ClockOptions,
  blockSize,
  type StampClock,
  createClock,
  openInput,
  readEnvelope,
} from '../../read/sources/reading.ts';

interface ReplayInput {
  name: string;
  clock: Omit<ClockOptions, 'latest'>;
}

interface Candidate extends ReplayInput {
  first: number;
}

/** Chooses each log once, the oldest first. `repeats` has a sentence for each log that is left out. */
export async function chooseInputs(options: ReplayOptions): Promise<{ inputs: ReplayInput[]; repeats: string[] }> {
  const repeats: string[] = [];
  const files = new Map<string, string>();
  const chosen: Candidate[] = [];
  for (const name of options.logs) {
    const file = identityOf(name);
    const original = file === undefined ? undefined : files.get(file);
    const unpacked = name.replace(/\.(?:gz|zst)$/, '');
    if (unpacked !== name && options.logs.includes(unpacked) && identityOf(unpacked) !== undefined) {
      repeats.push(`${name}: is a packed copy of ${unpacked}, which is read once`);
      continue;
    }
    if (original !== undefined) {
      repeats.push(`${name}: is the same file as ${original}, which is read once`);
      continue;
    }
    if (file !== undefined) files.set(file, name);
    chosen.push(await lookAt(name, options));
  }
  return { inputs: chosen.toSorted((a, b) => (a.first === b.first ? 0 : a.first - b.first)), repeats };
}

async function lookAt(name: string, { zone, bootTime: boot, now }: ReplayOptions): Promise<Candidate> {
  if (name === '-') return { name, clock: { zone, boot }, first: -Infinity };
  const { firstTime = -Infinity, lastUptime } = await peek(name, { zone, boot, latest: now });
  return { name, clock: { zone, boot, lastUptime }, first: firstTime };
}

/** Identifies a file, so that a link and its target, two names of one file, and `- < FILE` are the same. */
function identityOf(name: string): string | undefined {
  try {
    const { dev, ino } = name === '-' ? fstatSync(0, { bigint: true }) : statSync(name, { bigint: true });
    return `${dev}.${ino}`;
  } catch {
    return undefined;
  }
}

export interface ReplayScope {
  showsEvent: (event: Pick<CoreEvent, 'involvedObject'>) => boolean;
  showsEnds: (ends: Ends) => boolean;
  /** A name for the note that nothing was found, such as `Pod web-0 in Namespace shop`; undefined if everything is shown. */
  readonly text: string | undefined;
}

export function createScope({ namespace, pod }: Pick<ReplayOptions, 'namespace' | 'pod'>): ReplayScope {
  const isShown = (kind: string, inNamespace: string | undefined, name: string): boolean =>
    (namespace === undefined || inNamespace === namespace) && (pod === undefined || (kind === 'Pod' && name === pod));
  const showsEnd = ({ object }: Endpoint): boolean =>
    object === undefined
      ? namespace === undefined && pod === undefined
      : isShown(object.kind, object.namespace, object.name);
  const of = [
    pod === undefined ? undefined : `Pod ${pod}`,
    namespace === undefined ? undefined : `Namespace ${namespace}`,
  ];
  return {
    showsEvent: ({ involvedObject: { kind, namespace: inNamespace, name } }) => isShown(kind, inNamespace, name),
    showsEnds: ({ source, destination }) => showsEnd(source) || showsEnd(destination),
    text: of.filter((part) => part !== undefined).join(' in ') || undefined,
  };
}

/** Leaves out lines that were logged before `since`, and counts them in `totals`. */
export function fromThen(
  { take, repeats }: Pick<Pipeline, 'take' | 'repeats'>,
  since: Millis | undefined,
  totals: { earlier: number },
): Pick<Pipeline, 'take' | 'repeats'> {
  if (since === undefined) return { take, repeats };
  const isEarlier = (time: Millis): boolean => {
    if (time >= since) return false;
    totals.earlier++;
    return true;
  };
  return {
    take(line, origin) {
      if (!isEarlier(line.time)) take(line, origin);
    },
    repeats: repeats && {
      ...repeats,
      again: (repeat, time) => isEarlier(time) || repeats.again(repeat, time),
    },
  };
}

export interface LogTimes {
  /** The first time stamp, by which several logs are read in the order in which they were written. */
  firstTime: Millis | undefined;
  /** The last uptime stamp in seconds, to convert uptimes to times; undefined if there is none, as in compressed files. */
  lastUptime: number | undefined;
}

const nothing: LogTimes = { firstTime: undefined, lastUptime: undefined };

/** Thrown to stop reading after the first block. */
const enough = new Error('enough');

/** Reads the first and last 64 KiB. Never rejects, because errors are reported when the whole file is read. */
export async function peek(
  file: string,
  options: Omit<ClockOptions, 'latest'> & { latest: Millis | undefined },
): Promise<LogTimes> {
  const found: LogTimes = { ...nothing };
  try {
    const stat = statSync(file);
    // Opening a named pipe would wait for its writer, and closing it would lose what was written.
    if (!stat.isFile()) return nothing;
    found.lastUptime = lastUptimeOf(await readTail(file, stat.size));
    const clock = createClock({ ...options, latest: options.latest ?? stat.mtimeMs, lastUptime: found.lastUptime });
    await openInput(file).read((block) => {
      found.firstTime = firstTimeOf(block.toString('latin1'), clock);
      throw enough;
    });
  } catch (error) {
    if (error !== enough) return nothing;
  }
  return found;
}

async function readTail(file: string, size: number): Promise<string> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read({
    buffer: Buffer.alloc(blockSize),
    position: Math.max(0, size - blockSize),
  });
  return buffer.toString('latin1', 0, bytesRead);
}

function firstTimeOf(text: string, clock: StampClock): Millis | undefined {
  for (const line of text.split('\n', 200)) {
    const { time } = readEnvelope(line, clock);
    if (time !== undefined) return time;
  }
  return undefined;
}

/** Returns the last uptime stamp at the start of a line, of dmesg (`[ 12.3] …`) or /dev/kmsg (`4,1,12300000,-;…`). */
function lastUptimeOf(text: string): number | undefined {
  let last: number | undefined;
  for (const [, seconds, micros] of text.matchAll(/^(?:<\d+>)?(?:\[ *(\d{1,10}\.\d{1,9})\]|\d+,\d+,(\d{1,20}),)/gm)) {
    last = seconds === undefined ? Number(micros) / 1e6 : Number(seconds);
  }
  return last;
}
