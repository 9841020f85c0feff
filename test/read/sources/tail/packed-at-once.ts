import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { OpenContent } from '../../../../src/read/sources/tail/content.ts';

/** Works like `openPackedContent`, but reads as soon as it is asked to. */
export const openPackedAtOnce: OpenContent = ({ fd }, { block, turnEnded, failed, changed }) => {
  let size = Infinity;
  let isClosed = false;
  return {
    isWatched: true,
    isBusy: false,
    size: () => size,
    read(from) {
      let content: Buffer;
      try {
        content = gunzipSync(readFileSync(`/proc/self/fd/${fd}`));
      } catch (error) {
        return failed(error);
      }
      size = content.length;
      if (size > from) {
        block(content.subarray(from));
        turnEnded();
      }
      if (!isClosed) changed();
    },
    close: () => void (isClosed = true),
  };
};
