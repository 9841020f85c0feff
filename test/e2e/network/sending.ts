import { join } from 'node:path';
import { run } from './command.ts';
import type { Probe } from './prober.ts';

/** Sends TCP and UDP. */
export const prober = join(import.meta.dirname, 'prober.ts');

/** Sends datagrams in a stream. */
export const datagrams = join(import.meta.dirname, 'datagrams.ts');

/** Sends SCTP. */
export const initSender = join(import.meta.dirname, 'sctp-sender.py');

/** Sends packets of one protocol from a network namespace; resolves when all of them have left. */
export async function sendPackets(namespace: string, probes: readonly Probe[]): Promise<void> {
  const sender = probes[0]?.protocol === 'sctp' ? ['python3', initSender] : [process.execPath, prober];
  await run('ip', ['netns', 'exec', namespace, ...sender], `${JSON.stringify(probes)}\n`);
}

/** Sends `count` ICMP echo requests at once. Does not wait long for replies. */
export async function sendEchoRequests(namespace: string, destination: string, count: number): Promise<void> {
  const ping = ['ping', '-n', '-q', '-c', String(count), '-l', String(count), '-W', '0.01', destination];
  try {
    await run('ip', ['netns', 'exec', namespace, ...ping]);
  } catch (error) {
    // Status 1: no replies, as intended.
    if (!(error instanceof Error && 'code' in error && error.code === 1)) throw error;
  }
}
