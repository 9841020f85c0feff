import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { inTime } from '../until.ts';

/**
 * Runs `work` while no other process on this machine runs work under the same `name` (at most 106 bytes). The lock is
 * an abstract Unix socket (Linux). The kernel frees it when its holder ends, in whatever way, so no lock can become
 * stale. A waiter is woken because its connection to the holder ends. Rejects if others have held the lock for `within`
 * milliseconds.
 */
export async function withLock<T>(
  name: string,
  onWait: () => void,
  work: () => Promise<T>,
  within = 1_800_000,
): Promise<T> {
  const release = await acquire(`\0${name}`, onWait, within);
  try {
    return await work();
  } finally {
    await release();
  }
}

async function acquire(address: string, onWait: () => void, within: number): Promise<() => Promise<void>> {
  const deadline = performance.now() + within;
  for (let announced = false; ; announced = true) {
    const release = await tryToListen(address);
    if (release) return release;
    if (!announced) onWait();
    const problem = (): string => `[lock] others have held ${address.slice(1)} for ${within / 1000} s`;
    await inTime(untilHolderIsGone(address), problem, deadline - performance.now());
  }
}

async function tryToListen(address: string): Promise<(() => Promise<void>) | undefined> {
  const waiters = new Set<Socket>();
  const server = createServer((waiter) => {
    waiters.add(waiter);
    waiter.on('error', () => {}).on('close', () => waiters.delete(waiter));
  });
  try {
    server.listen(address);
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return undefined;
    throw error;
  }
  return async () => {
    const closed = once(server, 'close');
    server.close();
    for (const waiter of waiters) waiter.destroy();
    await closed;
  };
}

async function untilHolderIsGone(address: string): Promise<void> {
  const socket = connect(address).resume();
  // A refused connection means the same as a closed one: look again.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.on('close', resolve));
}
