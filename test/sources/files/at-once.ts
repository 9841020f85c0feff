import { fstatSync, readSync } from 'node:fs';
import type { OpenContent } from '../../../src/sources/files/content.ts';

/** Reads as soon as it is asked to, and notices nothing: with it, time is all that a test has to pass. */
export const openAtOnce: OpenContent = ({ fd }, { onBlock, onError }) => {
  const block = Buffer.alloc(256 * 1024);
  let isClosed = false;
  return {
    isWatched: false,
    isBusy: false,
    size: () => fstatSync(fd).size,
    read(from) {
      let count: number;
      try {
        count = readSync(fd, block, 0, block.length, from);
      } catch (error) {
        return onError(error);
      }
      if (count > 0 && !isClosed) onBlock(block.subarray(0, count));
    },
    close: () => void (isClosed = true),
  };
};
