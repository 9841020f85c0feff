/** Output that is complete when the call returns. */
import { writeSync } from 'node:fs';

/** Writes all of it before it returns, also to a pipe that takes it slowly. Throws what `writeSync` throws, but EAGAIN. */
export function writeAll(fd: number, text: string | Buffer): void {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      // A pipe set to non-blocking by its other users is full: wait a little without spinning.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** Whether the reader of our output has gone (`… | head`). A socket pair says so by ECONNRESET if something lay there unread (unix(7)). */
export function hasReadEnough(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === 'EPIPE' || (code === 'ECONNRESET' && syscall === 'write');
}
