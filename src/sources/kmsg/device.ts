import { closeSync, constants, openSync, readSync } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';

export interface Device {
  /** Neither opening nor reading may block. */
  open: (path: string) => number;
  /** EAGAIN: there is none. EPIPE: the next was overwritten, after it comes the oldest. EINVAL: the record did not fit, and is lost. */
  read: (fd: number, buffer: Buffer) => number;
  close: (fd: number) => void;
}

/** The kernel's own limit: CONSOLE_EXT_LOG_MAX up to Linux 6.2, PRINTK_MESSAGE_MAX (2048) since, escapes included. */
export const recordSize = 8192;

export const kmsgDevice: Device = {
  open: (path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
  read: (fd, buffer) => readSync(fd, buffer, 0, buffer.length, null),
  close: closeSync,
};

/** Reads one record into the buffer and gives its length; `again` asks for another call. */
export function readRecord(
  device: Device,
  fd: number,
  buffer: Buffer,
): number | 'empty' | 'again' | { error: unknown } {
  try {
    // The ring buffer never ends; a plain file in its place does.
    return device.read(fd, buffer) || 'empty';
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EAGAIN':
        return 'empty';
      // If anything was lost, the numbers of the records before and after show how much.
      case 'EPIPE':
      case 'EINVAL':
      case 'EINTR':
        return 'again';
      default:
        return { error };
    }
  }
}

export function adviceOn(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EPERM':
    case 'EACCES':
      return 'permission denied. The container must be privileged for it; or read a log file of the node instead (SOURCES=file:PATH)';
    case 'ENOENT':
      return 'it is not there. The container must be privileged to have it; or read a log file of the node instead (SOURCES=file:PATH)';
    default:
      return reasonOf(error);
  }
}
