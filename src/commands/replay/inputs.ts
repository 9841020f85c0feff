/** Decides which logs `replay` reads, in which order, and which part of them is counted and shown. */
import { fstatSync, statSync, closeSync, openSync, readSync } from 'node:fs';
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { CoreEvent } from '../../events/events.ts';
import type { Endpoint, Ends } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { type ClockOptions, blockSize, type Clock, createClock, readEnvelope } from '../../sources/reading.ts';

interface ReplayInput {
  name: string;
  /** What the first and the last lines tell about the clock. */
  clock: Omit<ClockOptions, 'latest'>;
}

interface Candidate extends ReplayInput {
  first: number;
}

/**
 * Chooses each log once, the oldest first. `repeats` has a sentence for each log that is the same file as another, or by its name the packed copy
 * of one.
 */
export function chooseInputs(options: ReplayOptions): { inputs: ReplayInput[]; repeats: string[] } {
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
    chosen.push(lookAt(name, options));
  }
  return { inputs: chosen.toSorted((a, b) => (a.first === b.first ? 0 : a.first - b.first)), repeats };
}

function lookAt(name: string, { zone, bootTime: boot, now }: ReplayOptions): Candidate {
  if (name === '-') return { name, clock: { zone, boot }, first: -Infinity };
  const { firstTime = -Infinity, lastUptime } = peek(name, { zone, boot, latest: now });
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

export interface Scope {
  showsEvent: (event: Pick<CoreEvent, 'involvedObject'>) => boolean;
  showsEnds: (ends: Ends) => boolean;
  /** Such as `Namespace shop`, for the note that nothing in it was found; undefined if everything is shown. */
  readonly text: string | undefined;
}

export function createScope({ namespace, pod }: Pick<ReplayOptions, 'namespace' | 'pod'>): Scope {
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

export interface Peek {
  /** The time of the first line that has one, so that several logs are read in the order in which they were written. */
  firstTime: Millis | undefined;
  /** The last uptime stamp in seconds, to convert uptimes to times; undefined in compressed files. */
  lastUptime: number | undefined;
}

const nothing: Peek = { firstTime: undefined, lastUptime: undefined };

/**
 * Reads the first and last 64 KiB of a regular file. `latest`: if undefined, the time of the file's last change. Never throws, because errors show
 * when the file is read.
 */
export function peek(file: string, options: Omit<ClockOptions, 'latest'> & { latest: Millis | undefined }): Peek {
  try {
    // Opening a named pipe would wait for its writer, and closing it would lose what was written.
    if (!statSync(file).isFile()) return nothing;
    const fd = openSync(file, 'r');
    try {
      const { size, mtimeMs } = fstatSync(fd);
      const latest = options.latest ?? mtimeMs;
      const head = readAt(fd, 0);
      const tail = size > blockSize ? readAt(fd, size - blockSize) : head;
      const lastUptime = lastUptimeOf(tail.toString('latin1'));
      const content = unpack(head).toString('latin1');
      return { firstTime: firstTimeOf(content, createClock({ ...options, latest, lastUptime })), lastUptime };
    } finally {
      closeSync(fd);
    }
  } catch {
    return nothing;
  }
}

function readAt(fd: number, position: number): Buffer {
  const buffer = Buffer.alloc(blockSize);
  return buffer.subarray(0, readSync(fd, buffer, 0, blockSize, position));
}

/** The most unpacked bytes. 64 KiB of a packed log unpack to some hundred KiB, but repeated content may unpack to gigabytes. */
const maxOutputLength = 16 << 20;

/** Unpacks the beginning of a file as far as possible, because the data is cut off on purpose. */
function unpack(head: Buffer): Buffer {
  try {
    if (head[0] === 0x1f && head[1] === 0x8b)
      return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength });
    if (head.readUInt32LE(0) === 0xfd2fb528)
      return zstdDecompressSync(head, { finishFlush: constants.ZSTD_e_flush, maxOutputLength });
    return head;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    return unpack(head.subarray(0, head.length >> 4));
  }
}

function firstTimeOf(text: string, clock: Clock): Millis | undefined {
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
