import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Millis } from '../../model/log-line.ts';
import { monotonicNow } from '../../platform/clock.ts';
import { createDevicePoll, type Device, kmsgDevice } from '../kmsg/device.ts';
import { type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';

export const defaultTracefs = '/sys/kernel/tracing';
/** For each CPU: some 4,000 lines. The kernel's own size takes 1.4 MB for each. */
const bufferKilobytes = 512;
/** The lines that are made before a read are not longer together (tracing_read_pipe of the kernel). */
const longestRest = 16_384;

export interface TraceOptions {
  /** The folder where the node's tracefs is mounted. */
  tracefs: string;
  listener: SourceListener;
  timing?: Timing;
  /** CLOCK_MONOTONIC. */
  monotonic?: () => Millis;
  device?: Device;
}

/** One event of the kernel, recorded in an instance of tracefs. */
export interface TracedEvent {
  /** Name of the source, and of the writer of its lines. */
  source: string;
  program: string;
  instance: string;
  /** The name of the event as it stands in a line: a part of a regular expression. */
  event: string;
  /** Makes the event ready, and returns its folder below that of the instance. */
  prepare: () => { folder: string; filter?: string };
  /** Called each time the instance records the event. */
  begun?: () => void;
  /** Undoes `prepare`, after the instance is gone. */
  forget?: () => void;
  /** The same as in `DevicePollOptions`. */
  restInFlood?: number;
  advise: (error: unknown) => string;
  /** The text that is handed over for what a line has behind the name of the event. */
  textOf?: (printed: string) => string;
}

const lost = /^CPU:\d{1,5} \[LOST (\d{1,12}) EVENTS\]$/;

/**
 * Reads what the kernel records of an event, from an instance of tracefs of its own, so that no other reader loses a line. What is read is gone
 * from there: lines of the second before a SIGKILL are lost, and those that are printed while no agent runs after a stop. Nothing in
 * tracefs outlives a boot, so an instance that is there already is of an agent that was killed, and is gone on with.
 */
export function createTrace(traced: TracedEvent, options: TraceOptions): Source {
  const { tracefs, listener, timing = systemTiming, monotonic = monotonicNow } = options;
  const { source: name, program, textOf = (printed) => printed } = traced;
  const folder = join(tracefs, 'instances', traced.instance);
  const { device = deviceOf(folder, traced) } = options;
  // `<...>-1234    [001] b.s3.  2727.956539: EVENT: TEXT`; the task's name before it may be anything of 15 bytes.
  const line = new RegExp(String.raw` \[\d{3,5}\] \S{1,8} +(\d{1,10}\.\d{1,9}): ${traced.event}: (.*)$`);
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  let rest = '';
  const poll = createDevicePoll({
    path: join(folder, 'trace_pipe'),
    device,
    schedule: timing.schedule,
    listener,
    advise: traced.advise,
    restInFlood: traced.restInFlood ?? 0,
    monotonic,
    records: { take, foundEmpty() {} },
  });

  return {
    name,
    get state() {
      return poll.state;
    },
    get position() {
      return counts.lines === 0 ? undefined : { lines: counts.lines };
    },
    counts,
    start: poll.start,
    stop() {
      poll.stop();
      remove(folder, traced);
    },
  };

  function take(text: string): number {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(-longestRest);
    for (const each of lines) if (poll.state !== 'stopped') takeLine(each);
    counts.bytes += text.length;
    return lines.length;
  }

  function takeLine(text: string): void {
    counts.lines++;
    const missing = lost.exec(text)?.[1];
    if (missing !== undefined) {
      const reason = `${name} was overwritten before it was read: ${missing} lines are lost`;
      listener.lost({ count: Number(missing), unit: 'records', time: timing.wall(), reason });
      return;
    }
    const [, seconds, printed] = line.exec(text) ?? [];
    if (printed === undefined) return;
    const present = timing.wall();
    const time = Math.min(present, present - monotonic() + Number(seconds) * 1000);
    listener.take(
      { source: name, line: counts.lines, text: textOf(printed), time, timeIsExact: true, host: undefined, program },
      'kernel',
    );
  }
}

function deviceOf(folder: string, { prepare, begun }: TracedEvent): Device {
  return {
    ...kmsgDevice,
    open(path) {
      const event = prepare();
      // Elsewhere than in a tracefs nothing is made.
      if (!existsSync(folder)) mkdirSync(folder);
      const ofEvent = join(folder, event.folder);
      if (event.filter !== undefined) writeFileSync(join(ofEvent, 'filter'), event.filter);
      const enable = join(ofEvent, 'enable');
      // An agent that was killed has left it as it is to be; setting the clock again would empty it.
      if (readFileSync(enable, 'latin1').startsWith('0')) {
        writeFileSync(join(folder, 'trace_clock'), 'mono');
        writeFileSync(join(folder, 'buffer_size_kb'), String(bufferKilobytes));
        writeFileSync(enable, '1');
      }
      begun?.();
      return kmsgDevice.open(path);
    },
  };
}

/** The ring buffer goes with the folder. */
function remove(folder: string, { forget }: TracedEvent): void {
  try {
    if (existsSync(folder)) rmdirSync(folder);
    forget?.();
  } catch {
    // Another reader has it open.
  }
}
