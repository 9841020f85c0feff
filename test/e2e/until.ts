import { setTimeout as delay } from 'node:timers/promises';

/** Rejects with what `problem` says where `promise` is not settled after `within` milliseconds, which only what hangs takes. */
export async function inTime<T>(promise: Promise<T>, problem: () => string, within = 60_000): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(problem())), within);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Looks again and again until there is a result, and returns it. If there is none after `within` milliseconds (default:
 * a minute), looks once more, because this process itself may be late, and rejects with what `problem` says. After a
 * short time it looks only twice a second, or every `longest` milliseconds, because a look may cost more than what it
 * waits for. If a look hangs for a minute more, the wait ends, too.
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
    const left = Math.max(0, deadline - performance.now());
    const found = await inTime(Promise.try(look), () => `${problem()}\n(the look for it hangs)`, left + 60_000);
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    if (isLast) throw new Error(problem());
    await delay(pause);
  }
}
