import { readSync, writeSync } from 'node:fs';

const blockSize = 64 * 1024;

/** Reads to the end, whatever size the system reports; undefined beyond `most` bytes, to bound the memory. Throws the system's error. */
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

/** Writes everything before it returns, even to a slow pipe. Throws what `writeSync` throws, except EAGAIN. */
export function writeAll(fd: number, text: string | Buffer): void {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      // Another user of the pipe has set it to non-blocking, and it is full. Wait 1 ms without spinning.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** Returns whether the reader of our output has gone (`… | head`). A socket pair reports ECONNRESET if unread data was left (unix(7)). */
export function hasReadEnough(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === 'EPIPE' || (code === 'ECONNRESET' && syscall === 'write');
}
