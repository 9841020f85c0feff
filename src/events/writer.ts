import type { Millis } from '../model/log-line.ts';
import { createCooldown } from '../platform/back-off.ts';
import type { Schedule } from '../platform/timer.ts';
import { delays } from './retry.ts';

/** Writes in flight at the same time that are not slow. */
const most = 4;

/** Slow writes beside them; as a rule they wait for admission in their namespace. */
const mostSlow = 8;

/** Writes Events; at most one write of a namespace is in flight. */
interface Item {
  namespace: string;
}

export interface WriterOptions<T extends Item> {
  /** Never rejects. */
  write: (item: T) => Promise<void>;
  /** Called when a slow write has ended. */
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

/**
 * Writes batches, a few requests at the same time, each for another namespace: one that is slow, throttled or being deleted holds up and
 * refuses one write, not several.
 */
export function createWriter<T extends Item>({ write, onSlowEnded, now, schedule }: WriterOptions<T>) {
  const flights = new Map<string, Flight>();
  const wasSlow = createCooldown<string>(delays.wasSlow, now);

  return {
    get size(): number {
      return flights.size;
    },
    /** Writes items in order, except those of busy namespaces. Resolves to these when each of the others has ended or is slow. */
    async writeAll(items: readonly T[], mayGoOn: () => boolean): Promise<T[]> {
      const waiting = [...items];
      await Promise.all(Array.from({ length: most }, writeSome));
      return waiting;

      async function writeSome(): Promise<void> {
        while (mayGoOn()) {
          const index = waiting.findIndex((item) => busyUntil(item.namespace) === undefined);
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

  /** The time at which to look again at a namespace that cannot be written now; undefined: it can. */
  function busyUntil(namespace: string): Millis | undefined {
    const flight = flights.get(namespace);
    // Look again at growing distances, so that a slow write costs few looks.
    if (flight !== undefined) return now() + Math.max(delays.slow, now() - flight.since);
    return countOfSlow() >= mostSlow && wasSlow.has(namespace) ? now() + delays.slow : undefined;
  }

  /** Resolves when another one may begin in its place. */
  function begin(item: T): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const flight: Flight = { since: now(), isOverdue: false, isSlow: false, leave: resolve, ended: promise };
    flights.set(item.namespace, flight);
    flight.ended = fly(item, flight);
    return promise;
  }

  async function fly(item: T, flight: Flight): Promise<void> {
    const { namespace } = item;
    const cancel = schedule(() => {
      flight.isOverdue = true;
      wasSlow.add(namespace);
      letSlowLeave();
    }, delays.slow);
    await write(item);
    cancel();
    flights.delete(namespace);
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
