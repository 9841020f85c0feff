import { createReadStream, open, read, readSync } from 'node:fs';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import type { Content, ContentListener } from './content.ts';
import { headLength } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';

/** The descriptor belongs to whoever opened it, but a stream that is destroyed closes it, `autoClose` or not. */
const borrowed = { open, read, close: (_: number, done: () => void): void => done() };

/** A rotated and packed (gzip) file, read in one go; offsets are of the packed bytes. It is packed once, so it never changes. */
export function openPackedContent({ fd }: OpenLog, listener: ContentListener): Content {
  let stop: (() => void) | undefined;
  let size = Infinity;

  return {
    isWatched: true,
    get isBusy() {
      return stop !== undefined;
    },
    size: () => size,
    read(from) {
      if (stop !== undefined) return;
      let at = 0;
      const packed = createReadStream('', { fd, start: 0, autoClose: false, fs: borrowed });
      const unpacked = createGunzip();
      const end = (): void => {
        packed.destroy();
        unpacked.destroy();
      };
      const fail = (error: unknown): void => {
        if (stop !== end) return;
        stop = undefined;
        end();
        listener.failed(error);
      };
      stop = end;
      packed.on('error', fail);
      // `pipeline` ends before all has come out, and an error after that would have no listener.
      unpacked.on('error', fail);
      unpacked.on('data', (block: Buffer) => {
        if (stop !== end) return;
        const unread = block.subarray(Math.max(0, Math.min(block.length, from - at)));
        at += block.length;
        if (unread.length === 0) return;
        listener.block(unread);
        listener.turnEnded();
      });
      unpacked.on('end', () => {
        if (stop !== end) return;
        stop = undefined;
        size = at;
        listener.changed();
      });
      packed.pipe(unpacked);
    },
    close() {
      const last = stop;
      stop = undefined;
      last?.();
    },
  };
}

/** Bytes of a gzip file in which nothing is packed (RFC 1952: header and trailer). */
const shortest = 18;

/** The first bytes of what was packed; undefined if that is no gzip file, or not enough of one yet. */
export function unpackedHead(fd: number): Buffer | undefined {
  // Packed, it is hardly ever longer.
  const packed = Buffer.alloc(4 * headLength);
  try {
    const start = packed.subarray(0, readSync(fd, packed, 0, packed.length, 0));
    if (start.length < shortest) return undefined;
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, headLength);
  } catch {
    return undefined;
  }
}
