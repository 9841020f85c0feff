import type { Millis } from '../../model/log-line.ts';
import type { Schedule } from '../../platform/timer.ts';
import type { Source, SourceListener } from '../source.ts';
import { createPace } from '../pace.ts';
import { adviceOn, type Device, readRecord, recordSize } from './device.ts';

export interface DevicePollOptions {
  path: string;
  device: Device;
  schedule: Schedule;
  onNotice: SourceListener['onNotice'];
  /** One record, as latin1; `length`: the bytes that were read. Returns false if it is no record. */
  take: (record: string, length: number) => boolean;
  onEmpty: () => void;
}

export interface DevicePoll {
  readonly state: Source['state'];
  start: () => void;
  stop: () => void;
}

/** Taken before other work has its turn: a few milliseconds. */
const readsPerTurn = 256;
/** A buffer of 128 KiB holds some 400 records, so that up to eight times as many as expected are not lost. */
const pacing = { aim: 48, shortest: 2, longest: 100 };
const retryInterval: Millis = 10_000;

const newline = 10;

export function createDevicePoll({ path, device, schedule, onNotice, take, onEmpty }: DevicePollOptions): DevicePoll {
  const buffer = Buffer.alloc(recordSize);
  const pace = createPace(pacing);
  /** Records since the last wait. */
  let found = 0;
  let state: Source['state'] = 'waiting';
  let fd: number | undefined;
  let published: string | undefined;
  let cancel: (() => void) | undefined;

  return {
    get state() {
      return state;
    },
    start: open,
    stop() {
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
    for (let reads = 0; reads < readsPerTurn; reads++) {
      const outcome = readRecord(device, fd as number, buffer);
      if (typeof outcome === 'object') return fail(outcome.error);
      if (outcome === 'empty') {
        onEmpty();
        const wait = pace.next(found);
        found = 0;
        return goOn(wait);
      }
      if (outcome === 'again') continue;
      // Properties of a device follow; newlines in the message itself are escaped.
      const end = buffer.indexOf(newline);
      if (take(buffer.toString('latin1', 0, end >= 0 && end < outcome ? end : outcome), outcome)) found++;
      if (state === 'stopped') return;
    }
    if (found === before) return fail(new Error(`${readsPerTurn} reads in a row gave no record`));
    goOn(0);
  }

  function goOn(delay: Millis): void {
    cancel = schedule(turn, delay);
    if (published === undefined) return;
    published = undefined;
    onNotice({ level: 'info', key: 'well', text: `${path} is read now` });
  }

  function fail(error: unknown): void {
    close();
    state = 'failed';
    cancel = schedule(open, retryInterval);
    const text = `${path} cannot be read: ${adviceOn(error)}. It is tried again every 10 s`;
    if (published === text) return;
    published = text;
    onNotice({ level: 'error', key: 'failed', text });
  }

  function close(): void {
    if (fd !== undefined) device.close(fd);
    fd = undefined;
  }
}
