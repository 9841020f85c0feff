import { run } from '../network/command.ts';
import type { KernelLog } from '../network/kernel-log.ts';
import { datagrams } from '../network/sending.ts';

export interface Flood {
  /** Lines that the kernel printed of it. */
  readonly lines: readonly string[];
  /** The time from before the first packet until the lines were taken. */
  readonly seconds: number;
}

/** 10,000 datagrams from a namespace, and the lines with `prefix` that the kernel prints of them: at least one. */
export async function sendFlood(namespace: string, address: string, log: KernelLog, prefix: string): Promise<Flood> {
  const started = performance.now();
  await run('ip', ['netns', 'exec', namespace, process.execPath, datagrams, address, '9', '10000']);
  const lines = await log.untilTaken(prefix, 1);
  // Not before: the kernel may still be at the last packets when they have been sent.
  return { lines, seconds: (performance.now() - started) / 1000 };
}
