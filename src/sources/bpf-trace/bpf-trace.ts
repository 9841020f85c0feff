import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Millis } from '../../model/log-line.ts';
import { monotonicNow } from '../../platform/clock.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { createDevicePoll, type Device, kmsgDevice } from '../kmsg/device.ts';
import { type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';

export const defaultTracefs = '/sys/kernel/tracing';
/** The event behind bpf_trace_printk (Linux 5.9), below the folder of an instance. */
const printkEvent = 'events/bpf_trace/bpf_trace_printk';
const instance = 'instances/kube-netfilter-tailer';
/** For each CPU: some 4,000 lines. The kernel's own size takes 1.4 MB for each. */
const bufferKilobytes = 512;
/** The lines that are made before a read are not longer together (tracing_read_pipe of the kernel). */
const longestRest = 16_384;

export interface BpfTraceOptions {
  /** The folder where the node's tracefs is mounted. */
  tracefs: string;
  listener: SourceListener;
  timing?: Timing;
  /** CLOCK_MONOTONIC. */
  monotonic?: () => Millis;
  device?: Device;
}

/** `<...>-1234    [001] b.s3.  2727.956539: bpf_trace_printk: TEXT`; the task's name before it may be anything of 15 bytes. */
const printed = / \[\d{3,5}\] \S{1,8} +(\d{1,10}\.\d{1,9}): bpf_trace_printk: (.*)$/;
const lost = /^CPU:\d{1,5} \[LOST (\d{1,12}) EVENTS\]$/;

/**
 * Reads what BPF programs print, from an instance of tracefs of its own, so that no other reader loses a line. What is read is gone from there: lines
 * of the second before a SIGKILL are lost, and those that are printed while no agent runs after a stop.
 */
export function createBpfTrace(options: BpfTraceOptions): Source {
  const { tracefs, listener, timing = systemTiming, monotonic = monotonicNow } = options;
  const folder = join(tracefs, instance);
  const { device = deviceOf(folder) } = options;
  const name = 'bpf-trace';
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  let rest = '';
  const poll = createDevicePoll({
    path: join(folder, 'trace_pipe'),
    device,
    schedule: timing.schedule,
    listener,
    advise: adviceOn,
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
      remove(folder);
    },
  };

  function take(text: string): number {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(-longestRest);
    for (const line of lines) if (poll.state !== 'stopped') takeLine(line);
    counts.bytes += text.length;
    return lines.length;
  }

  function takeLine(line: string): void {
    counts.lines++;
    const missing = lost.exec(line)?.[1];
    if (missing !== undefined) {
      const reason = `${name} was overwritten before it was read: ${missing} lines are lost`;
      listener.lost({ count: Number(missing), unit: 'records', time: timing.wall(), reason });
      return;
    }
    const [, seconds, text] = printed.exec(line) ?? [];
    if (text === undefined) return;
    const present = timing.wall();
    const time = Math.min(present, present - monotonic() + Number(seconds) * 1000);
    listener.take(
      { source: name, line: counts.lines, text, time, timeIsExact: true, host: undefined, program: 'bpf' },
      'kernel',
    );
  }
}

function adviceOn(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT')
    return 'no tracefs is mounted there, or the kernel does not record what BPF programs print (Linux 5.9, CONFIG_BPF_EVENTS)';
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return `${reasonOf(error)}. The agent must be root there and may write, and the kernel must not be locked down for confidentiality`;
  return reasonOf(error);
}

/** Why it could not be read, to a person; undefined if it can. Nothing is made. */
export function obstacleOf(tracefs: string): string | undefined {
  try {
    accessSync(join(tracefs, printkEvent, 'enable'), constants.W_OK);
    accessSync(join(tracefs, 'instances'), constants.W_OK);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}

function deviceOf(folder: string): Device {
  return {
    ...kmsgDevice,
    open(path) {
      // Elsewhere than in a tracefs nothing is made.
      if (!existsSync(folder)) mkdirSync(folder);
      const enable = join(folder, printkEvent, 'enable');
      // An agent that was killed has left it as it is to be; setting the clock again would empty it.
      if (readFileSync(enable, 'latin1').startsWith('0')) {
        writeFileSync(join(folder, 'trace_clock'), 'mono');
        writeFileSync(join(folder, 'buffer_size_kb'), String(bufferKilobytes));
        writeFileSync(enable, '1');
      }
      return kmsgDevice.open(path);
    },
  };
}

/** The ring buffer goes with the folder. */
function remove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The instance was never created, or another reader has it open.
  }
}
