import { setTimeout as delay } from 'node:timers/promises';

/**
 * Looks again and again until there is something, and returns it. Rejects with what `problem` says where nothing is after `within`
 * milliseconds (default: a minute); it looks once more then, because what is late may be this process.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  problem: () => string,
  within = 60_000,
  every = 50,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + within;
  for (;;) {
    const isLast = performance.now() > deadline;
    const found = await look();
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    if (isLast) throw new Error(problem());
    await delay(every);
  }
}
