import { createReadStream, readSync } from 'node:fs';
import { pipeline, type Transform } from 'node:stream';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import type { Content, ContentListener } from './content.ts';
import { headLength } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';

/**
 * What a file that was rotated and packed (gzip) holds. Offsets are those of what was packed. It is read in one go, without
 * a copy on disk; whoever packs a file does so once, so it does not change.
 */
export function openPackedContent({ fd }: OpenLog, { onBlock, onError, onChange }: ContentListener): Content {
  let stream: Transform | undefined;
  let size = Infinity;

  return {
    isWatched: true,
    get isBusy() {
      return stream !== undefined;
    },
    size: () => size,
    read(from) {
      if (stream !== undefined) return;
      let at = 0;
      const packed = createReadStream('', { fd, start: 0, autoClose: false });
      const unpacked = createGunzip();
      stream = unpacked;
      unpacked.on('data', (block: Buffer) => {
        if (stream !== unpacked) return;
        const news = block.subarray(Math.max(0, Math.min(block.length, from - at)));
        at += block.length;
        if (news.length > 0) onBlock(news);
      });
      pipeline(packed, unpacked, (error) => {
        if (stream !== unpacked) return;
        stream = undefined;
        if (error) return onError(error);
        size = at;
        onChange();
      });
    },
    close() {
      const last = stream;
      stream = undefined;
      last?.destroy();
    },
  };
}

/** The first bytes of what was packed; undefined if that is no gzip file, or not enough of one yet. */
export function unpackedHead(fd: number): Buffer | undefined {
  // Packed, it is hardly ever longer.
  const packed = Buffer.alloc(4 * headLength);
  try {
    const start = packed.subarray(0, readSync(fd, packed, 0, packed.length, 0));
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, headLength);
  } catch {
    return undefined;
  }
}
