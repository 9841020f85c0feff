import { Buffer } from 'node:buffer';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { until } from '../until.ts';
import { KERNEL_LOG } from './kernel-access.ts';

// With a buffer smaller than the longest record, the record would be lost.
const RECORD_BYTES = 8192;

export type KernelLog = ReturnType<typeof openKernelLog>;

/**
 * What the kernel prints from now on. Reading throws EPIPE if the kernel has printed more than its buffer holds since
 * the last time: with the usual 128 KiB, some 400 LOG lines.
 */
export function openKernelLog() {
  const fd = openSync(KERNEL_LOG, constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(RECORD_BYTES);
  /** The kernel's own new lines that contain `text`; other lines are skipped. */
  const take = (text: string): readonly string[] => {
    const lines: string[] = [];
    for (let record = readRecord(fd, buffer); record !== undefined; record = readRecord(fd, buffer)) {
      const line = kernelLine(record);
      if (line?.includes(text) === true) lines.push(line);
    }
    return lines;
  };
  /** The same, as soon as there are at least `count` lines; rejects if there are fewer after a minute. */
  const untilTaken = async (text: string, count: number): Promise<readonly string[]> => {
    const lines: string[] = [];
    await until(
      () => lines.push(...take(text)) >= count,
      () => `[network] the kernel printed ${lines.length} lines with ${text}, not ${count}:\n${lines.join('\n')}`,
      undefined,
      // Often, because other programs print in the meantime.
      50,
    );
    return lines;
  };
  skipAll(fd, buffer);
  return { take, untilTaken, close: () => closeSync(fd) };
}

function skipAll(fd: number, buffer: Buffer): void {
  for (;;) {
    try {
      if (readRecord(fd, buffer) === undefined) return;
    } catch (error) {
      // The record to be skipped has been overwritten.
      if (!hasCode(error, 'EPIPE')) throw error;
    }
  }
}

function readRecord(fd: number, buffer: Buffer): string | undefined {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer));
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return undefined;
    throw error;
  }
}

// `priority,sequence,microseconds,flags;text`; a facility other than 0 means that a program wrote it.
function kernelLine(record: string): string | undefined {
  const [, priority, line] = /^(\d+),[^;]*;(.*)/.exec(record) ?? [];
  return Number(priority) >> 3 === 0 ? line : undefined;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
