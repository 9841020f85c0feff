import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Millis } from '../../../base/model/log-line.ts';
import { monotonicNow } from '../../../base/platform/clock.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import { createDevicePoll, type Device, kmsgDevice } from '../kmsg/device.ts';
import { type Loss, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';

export const defaultTracefs = '/sys/kernel/tracing';
/** The size of the buffer of each CPU in KiB. The kernel's default is 1.4 MB. */
const usualBuffer = 512;
/** The most characters of one read, because the kernel's tracing_read_pipe hands over no more at once. */
const longestRest = 16_384;

export interface TraceOptions {
  tracefs: string;
  listener: SourceListener;
  timing?: Timing;
  monotonic?: () => Millis;
  device?: Device;
}

export interface PreparedEvent {
  /** Its folder below that of the instance. */
  folder: string;
  filter?: string;
}

/** Events of the kernel, recorded in an instance of tracefs. */
export interface TracedEvents {
  source: string;
  program: string;
  /** The name of the instance below `instances`. */
  instance: string;
  /** The names of the events in a line, as part of a regular expression. */
  event: string;
  /** Makes the events ready. */
  prepare: () => readonly PreparedEvent[];
  /** Called each time the instance is read. */
  begun?: () => void;
  /** Undoes `prepare`, after the instance is gone. */
  forget?: () => void;
  /** The pause after a full turn, as a multiple of the turn's length. */
  restInFlood?: number;
  advise: (error: unknown) => string;
  /** The size of the buffer of each CPU in KiB. */
  buffer?: number;
  /** Its only lines; by default any. */
  linesOf?: NonNullable<Loss['of']>;
  /** Makes the text of a line from what follows the event's name; by default the same. */
  textOfPrinted?: (printed: string) => string;
}

const lost = /^CPU:\d{1,5} \[LOST (\d{1,12}) EVENTS\]$/;

/**
 * Reads events of the kernel from an instance of tracefs of its own, so that other readers lose nothing. Reading removes lines. So lines
 * of the second before a SIGKILL are lost, and those between a stop and the next start. An instance that exists was left by a killed agent,
 * and is used again.
 */
export function createTrace(traced: TracedEvents, options: TraceOptions): Source {
  const { tracefs, listener, timing = systemTiming, monotonic = monotonicNow } = options;
  const { source: name, program, linesOf, textOfPrinted = (printed) => printed } = traced;
  const folder = join(tracefs, 'instances', traced.instance);
  const { device = deviceOf(folder, traced) } = options;
  // Matches `<...>-1234    [001] b.s3.  2727.956539: EVENT: TEXT`. The name of the task may be any 15 bytes.
  const line = new RegExp(String.raw` \[\d{3,5}\] \S{1,8} +(\d{1,10}\.\d{1,9}): ${traced.event}: (.*)$`);
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  let remaining = '';
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
    const lines = (remaining + text).split('\n');
    remaining = (lines.pop() ?? '').slice(-longestRest);
    for (const each of lines) if (poll.state !== 'stopped') takeLine(each);
    counts.bytes += text.length;
    return lines.length;
  }

  function takeLine(text: string): void {
    counts.lines++;
    const missing = lost.exec(text)?.[1];
    if (missing !== undefined) {
      const what = linesOf === undefined ? 'lines' : `lines of ${linesOf} that failed`;
      const reason = `${name} was overwritten before it was read: ${missing} ${what} are lost`;
      const loss: Loss = { count: Number(missing), unit: 'records', time: timing.wall(), reason };
      listener.lost(linesOf === undefined ? loss : { ...loss, of: linesOf });
      return;
    }
    const [, seconds, printed] = line.exec(text) ?? [];
    if (printed === undefined) return;
    const present = timing.wall();
    const time = Math.min(present, present - monotonic() + Number(seconds) * 1000);
    listener.take(
      {
        source: name,
        line: counts.lines,
        text: textOfPrinted(printed),
        time,
        timeIsExact: true,
        host: undefined,
        program,
      },
      'kernel',
    );
  }
}

function deviceOf(folder: string, { prepare, begun, buffer = usualBuffer }: TracedEvents): Device {
  return {
    ...kmsgDevice,
    open(path) {
      const events = prepare();
      // Without a tracefs, `instances` is missing and mkdir fails, so nothing is created.
      if (!existsSync(folder)) mkdirSync(folder);
      const places = events.map((event) => join(folder, event.folder));
      for (const [index, { filter }] of events.entries())
        if (filter !== undefined) writeFileSync(join(places[index] as string, 'filter'), filter);
      const off = places
        .map((place) => join(place, 'enable'))
        .filter((enable) => readFileSync(enable, 'latin1').startsWith('0'));
      // If a killed agent left an event enabled, its buffer is kept: writing trace_clock would empty it.
      if (off.length === places.length) {
        writeFileSync(join(folder, 'trace_clock'), 'mono');
        writeFileSync(join(folder, 'buffer_size_kb'), String(buffer));
      }
      for (const enable of off) writeFileSync(enable, '1');
      const pipe = kmsgDevice.open(path);
      begun?.();
      return pipe;
    },
  };
}

function remove(folder: string, { forget }: TracedEvents): void {
  try {
    if (existsSync(folder)) rmdirSync(folder);
    forget?.();
  } catch {
    // If another program has it open, it stays, and the next agent uses it again.
  }
}

/** The event of bpf_trace_printk (since Linux 5.9), as a path in an instance. */
const printkEvent = 'events/bpf_trace/bpf_trace_printk';

export function createBpfTrace(options: TraceOptions): Source {
  return createTrace(
    {
      source: 'bpf-trace',
      program: 'bpf',
      instance: 'kube-netfilter-tailer',
      event: 'bpf_trace_printk',
      prepare: () => [{ folder: printkEvent }],
      advise: adviceOn,
    },
    options,
  );
}

function adviceOn(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT')
    return 'no tracefs is mounted there, or the kernel does not record what BPF programs print (Linux 5.9, CONFIG_BPF_EVENTS)';
  return accessAdviceOn(error) ?? reasonOf(error);
}

export function accessAdviceOn(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EROFS' && code !== 'EACCES' && code !== 'EPERM') return undefined;
  return `${reasonOf(error)}. The agent must be root there and may write, and the kernel must not be locked down for confidentiality`;
}

/** Returns why the source cannot be read; undefined if it can. It creates nothing. */
export function bpfTraceObstacle(tracefs: string): string | undefined {
  try {
    accessSync(join(tracefs, printkEvent, 'enable'), constants.W_OK);
    accessSync(join(tracefs, 'instances'), constants.W_OK);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}
