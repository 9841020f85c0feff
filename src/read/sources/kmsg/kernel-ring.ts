import { readFileSync } from 'node:fs';
import type { Millis } from '../../../base/model/log-line.ts';
import { monotonicNow } from '../../../base/platform/clock.ts';
import { createClock } from '../envelopes/clock.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { type Loss, type Position, type Source, type SourceListener, type Timing, systemTiming } from '../source.ts';
import { adviceOn, type Device, createDevicePoll, kmsgDevice } from './device.ts';

export interface KernelRingOptions {
  path?: string;
  saved: Position | undefined;
  /** Without a saved position, older records than this are skipped; 0 skips none. After a reboot all records are new. */
  since: Millis;
  listener: SourceListener;
  timing?: Timing;
  /** CLOCK_MONOTONIC: the time since boot, without sleep. */
  monotonic?: () => Millis;
  /** Identifies a boot; empty if unknown. */
  bootId?: () => string;
  device?: Device;
}

/** Matches priority, number, and microseconds since boot (Linux Documentation/ABI/testing/dev-kmsg). */
const header = /^(\d{1,10}),(\d{1,16}),(\d{1,16})[,;]/;

/** Reads the kernel's ring buffer. It polls, because a read that waits, in any thread, would keep the process from ending. */
export function createKernelRing(options: KernelRingOptions): Source {
  const { path = '/dev/kmsg', saved, since, listener, timing = systemTiming, monotonic = monotonicNow } = options;
  const { bootId = readBootId, device = kmsgDevice } = options;
  const boot = bootId();
  const clock = createKernelClock({ wall: timing.wall, monotonic });
  const noClock = createClock({ latest: 0, boot: 0 });
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  let seq = lastTaken(saved, boot);
  /** True while records from before the start are read, if it is unknown which of them an earlier run has read. */
  let isOld = seq === undefined;
  const poll = createDevicePoll({
    path,
    device,
    schedule: timing.schedule,
    listener,
    advise: adviceOn,
    // Further lines are properties of a device. Newlines in the message itself are escaped.
    records: { take: (text) => Number(take(text.split('\n', 1)[0] ?? '', text.length)), foundEmpty },
  });

  return {
    name: path,
    get state() {
      return poll.state;
    },
    get position() {
      return seq === undefined ? saved : { bootId: boot, seq };
    },
    counts,
    start: poll.start,
    stop: poll.stop,
  };

  function foundEmpty(): void {
    clock.foundEmpty();
    isOld = false;
  }

  function take(record: string, length: number): boolean {
    const [, priority, number, micros] = header.exec(record) ?? [];
    const next = Number(number);
    if (seq !== undefined && next <= seq) return true;
    counts.lines++;
    counts.bytes += length;
    if (number === undefined) {
      const text = `${path} holds what is no record of the kernel's log: ${JSON.stringify(record.slice(0, 80))}`;
      listener.notice({ level: 'warn', key: 'unreadable', text });
      return false;
    }

    const stamp = Number(micros) / 1000;
    clock.compare(stamp);
    const time = clock.timeOf(stamp);
    const missing = seq === undefined ? 0 : next - seq - 1;
    // If this record is too old, so are the missing ones before it.
    const isTooOld = isOld && time < since;
    seq = next - 1;
    if (missing > 0 && !isTooOld) listener.lost(lossOf(path, missing, time));
    if (poll.state === 'stopped') return true;
    seq = next;
    if (isTooOld) return true;
    const { text, host, program } = readEnvelope(record, noClock);
    // Any program may write to the device, but only the kernel with facility 0.
    const origin = Number(priority) >>> 3 === 0 ? 'kernel' : 'userspace';
    const line = { source: path, line: next, text, time, timeIsExact: true, host };
    listener.take(origin === 'kernel' ? line : { ...line, program }, origin);
    return true;
  }
}

function lossOf(path: string, count: number, time: Millis): Loss {
  const what = count === 1 ? '1 record is' : `${count} records are`;
  return { count, unit: 'records', time, reason: `${path} was overwritten before it was read: ${what} lost` };
}

/** Returns the number of the last record of this boot that an earlier run read; -1 after a reboot; undefined if it is not known. */
function lastTaken(saved: Position | undefined, boot: string): number | undefined {
  const { bootId, seq } = saved ?? {};
  if (boot === '' || typeof bootId !== 'string' || bootId === '' || !Number.isSafeInteger(seq)) return undefined;
  // After each boot, the kernel counts from 0 again.
  return bootId === boot ? (seq as number) : -1;
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

export interface KernelClockOptions {
  wall: () => Millis;
  monotonic: () => Millis;
}

export interface KernelClock {
  timeOf(stamp: Millis): Millis;
  /** Notes that the buffer is empty. A record that is read within a quarter of a second was made in that time. */
  foundEmpty(): void;
  /** Compares the clocks by a record that was read. Call it before `timeOf` for the same record. */
  compare(stamp: Millis): void;
}

const freshness: Millis = 250;
const tolerable: Millis = 1000;

/**
 * Turns the kernel's stamps into times. The stamps come from local_clock, which drifts from CLOCK_MONOTONIC by seconds in weeks, and stops
 * during sleep. So the offset is measured again and again: a record that comes right after the buffer was empty has just been made. Until
 * the first such record, times are wrong by the drift; those from before a sleep by its length.
 */
export function createKernelClock({ wall, monotonic }: KernelClockOptions): KernelClock {
  let emptyAt: Millis = -Infinity;
  let correction: Millis = 0;

  return {
    timeOf(stamp: Millis): Millis {
      const present = wall();
      return Math.min(present, present - monotonic() + stamp + correction);
    },
    foundEmpty(): void {
      emptyAt = monotonic();
    },
    compare(stamp: Millis): void {
      const present = monotonic();
      // A line that the kernel ends late has an old stamp when it is read. The next line, which ended it, corrects this.
      if (present - emptyAt <= freshness && Math.abs(present - stamp - correction) > tolerable)
        correction = present - stamp;
    },
  };
}
