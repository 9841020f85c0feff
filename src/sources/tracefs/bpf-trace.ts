import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../platform/system-error.ts';
import type { Source } from '../source.ts';
import { createTrace, type TraceOptions } from './trace.ts';

/** The event behind bpf_trace_printk (Linux 5.9), below the folder of an instance. */
const printkEvent = 'events/bpf_trace/bpf_trace_printk';

/** Reads what BPF programs print. */
export function createBpfTrace(options: TraceOptions): Source {
  return createTrace(
    {
      source: 'bpf-trace',
      program: 'bpf',
      instance: 'kube-netfilter-tailer',
      event: 'bpf_trace_printk',
      prepare: () => ({ folder: printkEvent }),
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

/** Says what keeps the agent from using a tracefs that is there; undefined for other errors. */
export function accessAdviceOn(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EROFS' && code !== 'EACCES' && code !== 'EPERM') return undefined;
  return `${reasonOf(error)}. The agent must be root there and may write, and the kernel must not be locked down for confidentiality`;
}

/** Returns why it cannot be read; undefined if it can. It creates nothing. */
export function obstacleOf(tracefs: string): string | undefined {
  try {
    accessSync(join(tracefs, printkEvent, 'enable'), constants.W_OK);
    accessSync(join(tracefs, 'instances'), constants.W_OK);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}
