import { closeSync, constants, openSync, readSync } from 'node:fs';
import type { Millis } from '../../../base/model/log-line.ts';
import { monotonicNow } from '../../../base/platform/clock.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Schedule } from '../../../base/platform/timer.ts';
import { type Source, type SourceListener, createPace } from '../source.ts';

export interface Device {
  /** Neither opening nor reading may block. */
  open: (path: string) => number;
  /** Throws EAGAIN if there is no record, EPIPE if the next record was overwritten, and EINVAL if the record did not fit and is lost. */
  read: (fd: number, buffer: Buffer) => number;
  close: (fd: number) => void;
}

/** The kernel's own limit, with escapes: CONSOLE_EXT_LOG_MAX up to Linux 6.2, PRINTK_MESSAGE_MAX (2048) since. */
export const recordSize = 8192;

export const kmsgDevice: Device = {
  open: (path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
  read: (fd, buffer) => readSync(fd, buffer, 0, buffer.length, null),
  close: closeSync,
};

/** Reads a record into `buffer`. Returns its length in bytes; `empty`: there is none yet; `again`: read again, a record may follow. */
export function readKmsgRecord(
  device: Device,
  fd: number,
  buffer: Buffer,
): number | 'empty' | 'again' | { error: unknown } {
  try {
    // Only a plain file has an end; the ring buffer has none.
    return device.read(fd, buffer) || 'empty';
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EAGAIN':
        return 'empty';
      // The numbers of the records before and after will show how many were lost.
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

export interface DevicePollOptions {
  path: string;
  device: Device;
  schedule: Schedule;
  listener: Pick<SourceListener, 'notice'>;
  advise: (error: unknown) => string;
  /** The pause after a full turn, as a multiple of the turn's length. */
  restInFlood?: number;
  /** CLOCK_MONOTONIC. */
  monotonic?: () => Millis;
  records: RecordSink;
}

export interface RecordSink {
  /** Takes the result of one read as latin1. Returns how many records it contained. */
  take: (text: string) => number;
  foundEmpty: () => void;
}

/** How many records are read before other work gets its turn. They take a few milliseconds. */
const recordsPerTurn = 256;
/** This many reads in a row without a record count as a failure. */
const readsPerTurn = 256;
/** The kernel's buffer of 128 KiB has room for about 400 records, eight times as many as one look should find. */
const pacing = { aim: 48, shortest: 2, longest: 100 };
const retryInterval: Millis = 10_000;

export interface DevicePoll {
  readonly state: Source['state'];
  start: () => void;
  stop: () => void;
}

export function createDevicePoll(options: DevicePollOptions): DevicePoll {
  const { path, device, schedule, listener, advise, restInFlood = 0, monotonic = monotonicNow, records } = options;
  const buffer = Buffer.alloc(recordSize);
  const pace = createPace(pacing);
  let found = 0;
  let state: Source['state'] = 'waiting';
  let fd: number | undefined;
  let published: string | undefined;
  let cancel: (() => void) | undefined;

  return {
    get state(): Source['state'] {
      return state;
    },
    start: open,
    stop(this: void): void {
      state = 'stopped';
      cancel?.();
      close();
    },
  };

  function open(): void {
    try {
      fd = device.open(path);
    } catch (error) {
      return fail(error);
    }
    state = 'reading';
    cancel = schedule(turn, 0);
  }

  function turn(): void {
    const before = found;
    const began = monotonic();
    for (let reads = 0; reads < readsPerTurn && found - before < recordsPerTurn; reads++) {
      const outcome = readKmsgRecord(device, fd as number, buffer);
      if (typeof outcome === 'object') return fail(outcome.error);
      if (outcome === 'empty') {
        records.foundEmpty();
        const wait = pace.next(found);
        found = 0;
        return goOn(wait);
      }
      if (outcome === 'again') continue;
      found += records.take(buffer.toString('latin1', 0, outcome));
      if (state === 'stopped') return;
    }
    if (found === before) return fail(new Error(`${readsPerTurn} reads in a row gave no record`));
    goOn(restInFlood * (monotonic() - began));
  }

  function goOn(delay: Millis): void {
    cancel = schedule(turn, delay);
    if (published === undefined) return;
    published = undefined;
    listener.notice({ level: 'info', key: 'well', text: `${path} is read now` });
  }

  function fail(error: unknown): void {
    close();
    state = 'failed';
    cancel = schedule(open, retryInterval);
    const text = `${path} cannot be read: ${advise(error)}. It is tried again every 10 s`;
    if (published === text) return;
    published = text;
    listener.notice({ level: 'error', key: 'failed', text });
  }

  function close(): void {
    if (fd !== undefined) device.close(fd);
    fd = undefined;
  }
}
