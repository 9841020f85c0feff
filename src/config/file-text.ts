/** The bytes of the config file, within bounds. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { reasonOf } from '../platform/system-error.ts';

/** Settings take a few KB; a ConfigMap cannot hold more than 1 MiB. */
const limit = 256 * 1024;

/** The text of a config file. Throws an Error that says, for a person, why it cannot be had: `is a folder`. */
export function readConfigText(path: string): string {
  const bytes = readBytes(path);
  if (bytes.length > limit) throw new Error(`is larger than ${limit / 1024} KiB: that is no config file`);
  if (bytes.includes(0)) throw new Error('is no text: it holds zero bytes');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('is no text in UTF-8');
  }
}

/** One byte more than the limit, at most. */
function readBytes(path: string): Buffer {
  let file: number | undefined;
  try {
    // Opening a pipe without a writer would block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new Error('is a folder');
    if (!stat.isFile()) throw new Error('is no regular file');
    const bytes = Buffer.alloc(limit + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || length === bytes.length) return bytes.subarray(0, length);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
