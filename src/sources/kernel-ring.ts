import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { hrtime } from 'node:process';
import type { Millis } from '../model.ts';
import { reasonOf } from '../system-error.ts';
import { createClock } from './clock.ts';
import { readEnvelope } from './envelope.ts';
import type { Position, Source, SourceListener } from './source.ts';

export interface KernelRingOptions {
  path?: string;
  saved: Position | undefined;
  /** Of an older record only what a saved position reaches back to is handed over. */
  since: Millis;
  listener: SourceListener;
  now?: () => Millis;
  /** Milliseconds since boot, sleep not counted, as the kernel stamps its records. */
  uptime?: () => Millis;
  bootId?: () => string;
  device?: Device;
}

/** The calls that are made of the device. */
export interface Device {
  open: (path: string) => number;
  /** Reads one record. Throws EAGAIN when there is none, EPIPE when records were overwritten. */
  read: (fd: number, into: Buffer) => number;
  close: (fd: number) => void;
}

/** `seq` is the number of the last record taken, counted since the boot that `bootId` names. */
interface RingPosition extends Record<string, string | number> {
  bootId: string;
  seq: number;
}

/** The longest record that the kernel hands out (PRINTKRB_RECORD_MAX and its prefix); one that does not fit is lost. */
const recordSize = 8192;
/** Records taken before other work gets its turn. */
const batch = 512;
const shortestPoll: Millis = 2;
const longestPoll: Millis = 100;
const retryInterval: Millis = 10_000;
/** How far the kernel's stamps may be off before they are corrected. */
const tolerableDrift: Millis = 1000;

/**
 * The kernel's ring buffer, /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg). Polled without ever blocking: a read that
 * waits in another thread would keep the process from ending.
 */
export function createKernelRing(options: KernelRingOptions): Source {
  const { path = '/dev/kmsg', since, listener, now = Date.now, uptime = monotonic, device = realDevice } = options;
  const bootId = (options.bootId ?? readBootId)();
  const saved = options.saved as RingPosition | undefined;
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  const buffer = Buffer.alloc(recordSize);
  let state: Source['state'] = 'waiting';
  let fd: number | undefined;
  let timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  let poll = shortestPoll;
  /** Last record taken; undefined before the first one of this boot. */
  let seq = saved?.bootId === bootId ? saved.seq : undefined;
  /** When the buffer was last found empty. */
  let emptyAt: Millis = -Infinity;
  /** The kernel's stamps drift from the clock, and do not count the time that a machine sleeps. */
  let drift: Millis = 0;

  return {
    name: path,
    get state() {
      return state;
    },
    get position() {
      return seq === undefined ? undefined : ({ bootId, seq } satisfies RingPosition);
    },
    get counts() {
      return counts;
    },
    start: () => turn(),
    stop() {
      clearTimeout(timer as NodeJS.Timeout);
      clearImmediate(timer as NodeJS.Immediate);
      close();
      state = 'stopped';
    },
  };

  function turn(): void {
    const wait = fd === undefined ? tryToOpen() : readBatch(fd);
    timer = wait === 0 ? setImmediate(turn) : setTimeout(turn, wait);
  }

  function tryToOpen(): Millis {
    try {
      fd = device.open(path);
      state = 'reading';
      return 0;
    } catch (error) {
      fail(error);
      return retryInterval;
    }
  }

  /** Returns how long to wait before the next one. */
  function readBatch(open: number): Millis {
    for (let records = 0; records < batch; records++) {
      let length: number;
      try {
        length = device.read(open, buffer);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // Overwritten before it was read: the gap in the numbers tells how much.
        if (code === 'EPIPE') continue;
        if (code === 'EAGAIN') {
          emptyAt = now();
          poll = records > 0 ? shortestPoll : Math.min(poll * 2, longestPoll);
          return poll;
        }
        fail(error);
        close();
        return retryInterval;
      }
      take(buffer.toString('latin1', 0, length), length);
    }
    return 0;
  }

  function take(record: string, length: number): void {
    counts.lines++;
    counts.bytes += length;
    const found = header.exec(record);
    if (found === null) return;
    const number = Number(found[1]);
    if (seq !== undefined) {
      if (number <= seq) return;
      if (number > seq + 1) lost(number - seq - 1);
    }
    seq = number;
    const micros = Number(found[2]);
    const time = timeOf(micros / 1000);
    // What an earlier run has left unread is news, however old it is.
    if (saved?.bootId !== bootId && time < since) return;
    const end = record.indexOf('\n');
    const clock = createClock({ latest: now(), boot: time - micros / 1000 });
    const { text, host, origin } = readEnvelope(end < 0 ? record : record.slice(0, end), clock);
    listener.onLine({ source: path, line: number, text, time, timeIsExact: true, host }, origin);
  }

  /** `sinceBoot`: the kernel's stamp, in milliseconds. */
  function timeOf(sinceBoot: Millis): Millis {
    const latest = now();
    let time = latest - uptime() + sinceBoot + drift;
    // There was nothing a moment ago, so this is not older than that.
    const isNew = latest - emptyAt <= 2 * longestPoll;
    if (isNew && Math.abs(latest - time) > tolerableDrift) {
      drift += latest - time;
      time = latest;
    }
    return Math.min(time, latest);
  }

  function lost(count: number): void {
    const reason = `${path} was overwritten before it was read: ${count} ${count === 1 ? 'record is' : 'records are'} lost`;
    listener.onLost({ count, unit: 'records', time: now(), reason });
  }

  function fail(error: unknown): void {
    state = 'failed';
    const { code } = error as NodeJS.ErrnoException;
    const hint =
      code === 'EPERM' || code === 'EACCES'
        ? '. The container must be privileged for it; a file of the host (SOURCES=file:PATH) needs no rights but to read it'
        : '';
    const text = `${path} cannot be read: ${reasonOf(error)}${hint}; it is tried again every 10 s`;
    listener.onNotice({ level: 'error', key: 'failed', text });
  }

  function close(): void {
    if (fd !== undefined) device.close(fd);
    fd = undefined;
  }
}

/** Priority, number, microseconds since boot. */
const header = /^\d+,(\d+),(\d+),/;

const realDevice: Device = {
  open: (path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
  read: (fd, into) => readSync(fd, into, 0, into.length, null),
  close: closeSync,
};

/** CLOCK_MONOTONIC, which starts at boot. */
function monotonic(): Millis {
  return Number(hrtime.bigint() / 1000n) / 1000;
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
