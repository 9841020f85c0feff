import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { createClock } from '../envelopes/clock.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { siblingsOf } from '../tail/siblings.ts';

/** Shows whether the kernel's lines get into a log file. */
export interface Traces {
  written: Millis;
  isEmpty: boolean;
  /** The kernel's last line, there or in the file that it was rotated from, and when that file was last written to. */
  kernel: { time: Millis; written: Millis } | undefined;
}

/** Bytes at the end of a file. Where everything goes into one file, the kernel's lines may be far between. */
const reach = 1024 * 1024;

/** Looks at the end of a log, and of the one before it. The reason why it cannot be read is for a person. */
export function tracesOfKernel(path: string): Traces | { reason: string } {
  const live = lookAtEnd(path);
  if ('reason' in live || live.kernel !== undefined) return live;
  const previous = siblingsOf(path).findLast(({ isPacked }) => !isPacked);
  const before = previous === undefined ? undefined : lookAtEnd(previous.path);
  return before === undefined || 'reason' in before ? live : { ...live, kernel: before.kernel };
}

function lookAtEnd(path: string): Traces | { reason: string } {
  let fd: number | undefined;
  try {
    // Opening a pipe or a device can change it.
    if (!statSync(path).isFile()) return { reason: 'it is no regular file' };
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size, mtimeMs: written } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, reach));
    const text = buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, size - buffer.length));
    const time = lastOfKernel(text, size > reach, written);
    return { written, isEmpty: size === 0, kernel: time === undefined ? undefined : { time, written } };
  } catch (error) {
    return { reason: reasonOf(error) };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Time of the last line that is the kernel's. */
function lastOfKernel(text: string, isCut: boolean, written: Millis): Millis | undefined {
  const clock = createClock({ latest: written });
  for (let at = text.length; at >= 0;) {
    const found = text.lastIndexOf('kernel', at);
    if (found < 0) return undefined;
    const start = text.lastIndexOf('\n', found) + 1;
    if (start === 0 && isCut) return undefined;
    const end = text.indexOf('\n', found);
    const { origin, time } = readEnvelope(text.slice(start, end < 0 ? text.length : end), clock);
    if (origin === 'kernel') return time ?? written;
    at = start - 1;
  }
  return undefined;
}
