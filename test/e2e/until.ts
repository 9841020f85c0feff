import { setTimeout as delay } from 'node:timers/promises';

/**
 * Looks again and again until there is something, and returns it. Rejects with what `problem` says where nothing is after `within`
 * milliseconds (default: a minute); it looks once more then, because what is late may be this process. What is not there soon is looked
 * for twice a second, or every `longest` milliseconds: a look may cost more than what is waited for.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  problem: () => string,
  within = 60_000,
  longest = 500,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + within;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, longest)) {
    const isLast = performance.now() > deadline;
    const found = await look();
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    if (isLast) throw new Error(problem());
    await delay(pause);
  }
}
