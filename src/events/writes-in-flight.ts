import type { Millis } from '../model/log-line.ts';
import { createCooldown } from '../platform/cooldown.ts';
import type { Schedule } from '../platform/timer.ts';

/** A write that takes longer is slow: another one may begin in its place. */
export const slowAfter: Millis = 1000;

/** Writes in flight that are not slow. */
const most = 4;

/** Slow ones beside them, which wait for admission in their namespace, as a rule. */
const mostSlow = 8;

/** A key whose write was slow so lately has to wait while there are `mostSlow`. */
const slowFor: Millis = 60_000;

export interface WritesInFlightOptions<T> {
  /** Of two with the same key, one is in flight at most. */
  keyOf: (item: T) => string;
  /** Never rejects. */
  write: (item: T) => Promise<void>;
  /** A slow write has ended. */
  onSlowEnded: () => void;
  now: () => Millis;
  schedule: Schedule;
}

interface Flight {
  since: Millis;
  isOverdue: boolean;
  isSlow: boolean;
  /** Another one may begin in its place. */
  leave: () => void;
  ended: Promise<void>;
}

export type WritesInFlight<T> = ReturnType<typeof createWritesInFlight<T>>;

/** Writes items, a few at the same time and one for each key, so that one whose answer is slow holds up no other key. */
export function createWritesInFlight<T>({ keyOf, write, onSlowEnded, now, schedule }: WritesInFlightOptions<T>) {
  const flights = new Map<string, Flight>();
  const wasSlow = createCooldown<string>(slowFor, now);

  return {
    get size(): number {
      return flights.size;
    },
    /** Begins items in order, but for those whose key is busy. Resolves when each has ended or is slow, to those that were not begun. */
    async writeAll(items: readonly T[], mayGoOn: () => boolean): Promise<T[]> {
      const waiting = [...items];
      await Promise.all(Array.from({ length: most }, writeSome));
      return waiting;

      async function writeSome(): Promise<void> {
        while (mayGoOn()) {
          const index = waiting.findIndex((item) => busyUntil(keyOf(item)) === undefined);
          const [item] = index < 0 ? [] : waiting.splice(index, 1);
          if (item === undefined) return;
          await begin(item);
        }
      }
    },
    busyUntil,
    /** Resolves when those in flight at the call have ended. */
    settled: async (): Promise<void> => void (await Promise.all([...flights.values()].map(({ ended }) => ended))),
  };

  /** When a key should be looked at again, which cannot be written now; undefined: it can. */
  function busyUntil(key: string): Millis | undefined {
    const flight = flights.get(key);
    // A longer and longer time, so that what waits for a slow key is looked at a few times only.
    if (flight !== undefined) return now() + Math.max(slowAfter, now() - flight.since);
    return countOfSlow() >= mostSlow && wasSlow.has(key) ? now() + slowAfter : undefined;
  }

  /** Resolves when another one may begin in its place. */
  function begin(item: T): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const flight: Flight = { since: now(), isOverdue: false, isSlow: false, leave: resolve, ended: promise };
    flights.set(keyOf(item), flight);
    flight.ended = fly(item, flight);
    return promise;
  }

  async function fly(item: T, flight: Flight): Promise<void> {
    const key = keyOf(item);
    const cancel = schedule(() => {
      flight.isOverdue = true;
      wasSlow.add(key);
      letSlowLeave();
    }, slowAfter);
    await write(item);
    cancel();
    flights.delete(key);
    flight.leave();
    letSlowLeave();
    if (flight.isSlow) onSlowEnded();
  }

  function letSlowLeave(): void {
    for (const flight of flights.values()) {
      if (!flight.isOverdue || flight.isSlow || countOfSlow() >= mostSlow) continue;
      flight.isSlow = true;
      flight.leave();
    }
  }

  function countOfSlow(): number {
    return [...flights.values()].filter(({ isSlow }) => isSlow).length;
  }
}
