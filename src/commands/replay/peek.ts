import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Millis } from '../../model/log-line.ts';
import { blockSize, type Clock, type ClockOptions, createClock, readEnvelope } from '../../sources/sources.ts';

export interface Peek {
  /** Time of the first line that has one, to read several logs in the order they were written. */
  firstTime: Millis | undefined;
  /** Last uptime stamp, in seconds, to place uptimes in time; undefined in compressed files. */
  lastUptime: number | undefined;
  /** The first KiB of the unpacked content, one character a byte, to find logs that may be copies of each other. */
  start: string | undefined;
}

const nothing: Peek = { firstTime: undefined, lastUptime: undefined, start: undefined };

/** Looks at the first and last 64 KiB of a regular file. `latest`: the file's last change, if undefined. Never throws; a problem shows again when the file is read. */
export function peek(file: string, options: Omit<ClockOptions, 'latest'> & { latest: Millis | undefined }): Peek {
  try {
    // Opening a named pipe would wait for its writer, and closing it again lose what it wrote.
    if (!statSync(file).isFile()) return nothing;
    const fd = openSync(file, 'r');
    try {
      const { size, mtimeMs } = fstatSync(fd);
      const latest = options.latest ?? mtimeMs;
      const head = readAt(fd, 0);
      const tail = size > blockSize ? readAt(fd, size - blockSize) : head;
      const lastUptime = lastUptimeOf(tail.toString('latin1'));
      const content = unpack(head);
      const firstTime = firstTimeOf(content.toString('latin1'), createClock({ ...options, latest, lastUptime }));
      return { firstTime, lastUptime, start: content.toString('latin1', 0, 1024) };
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

/** 64 KiB of a packed log are some hundred KiB; of what only repeats itself they may be gigabytes. */
const maxOutputLength = 16 << 20;

/** The start of compressed data, as far as it goes: it is cut off on purpose. */
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

/** Uptime stamps of dmesg (`[ 12.3] …`) and /dev/kmsg (`4,1,12300000,-;…`) at the start of a line. */
function lastUptimeOf(text: string): number | undefined {
  let last: number | undefined;
  for (const [, seconds, micros] of text.matchAll(/^(?:<\d+>)?(?:\[ *(\d{1,10}\.\d{1,9})\]|\d+,\d+,(\d{1,20}),)/gm)) {
    last = seconds === undefined ? Number(micros) / 1e6 : Number(seconds);
  }
  return last;
}
