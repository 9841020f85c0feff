import { readSync } from 'node:fs';

const blockSize = 64 * 1024;

/**
 * Reads an open file or pipe to its end, whatever size the system tells. Returns undefined as soon as there are more than `most` bytes, so
 * that memory is bounded. Throws the system's error.
 */
export function readAtMost(fd: number, most: number): Buffer | undefined {
  const blocks: Buffer[] = [];
  const block = Buffer.allocUnsafe(blockSize);
  for (let [count, length] = [0, 0]; (count = readSync(fd, block)) > 0;) {
    length += count;
    if (length > most) return undefined;
    blocks.push(Buffer.from(block.subarray(0, count)));
  }
  return Buffer.concat(blocks);
}
