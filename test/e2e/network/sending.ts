import { join } from 'node:path';
import { run } from './command.ts';
import type { Packets } from './sender.ts';

const sender = join(import.meta.dirname, 'sender.ts');

/** Sends SCTP. */
export const initSender = join(import.meta.dirname, 'sctp-sender.py');

/** Sends from a network namespace; resolves when all packets have left. */
export async function sendPackets(namespace: string, packets: Packets): Promise<void> {
  await run('ip', ['netns', 'exec', namespace, process.execPath, sender, JSON.stringify(packets)]);
}

/** An SCTP INIT for each; resolves when all have left. By a raw socket: the kernel need not have SCTP, and Node.js has none. */
export async function sendInitChunks(namespace: string, probes: readonly object[]): Promise<void> {
  await run('ip', ['netns', 'exec', namespace, 'python3', initSender], `${JSON.stringify(probes)}\n`);
}

/** Sends `count` ICMP echo requests at once. Does not wait long for replies. */
export async function sendEchoRequests(namespace: string, destination: string, count: number): Promise<void> {
  const ping = ['ping', '-n', '-q', '-c', String(count), '-l', String(count), '-W', '0.01', destination];
  try {
    await run('ip', ['netns', 'exec', namespace, ...ping]);
  } catch (error) {
    // 1: no replies, which is as it should be.
    if (!(error instanceof Error && 'code' in error && error.code === 1)) throw error;
  }
}
