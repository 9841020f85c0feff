import type { Millis } from '../../base/model/log-line.ts';
import { createCooldown } from '../../base/platform/rates.ts';
import type { Schedule } from '../../base/platform/timer.ts';
import { delays } from './retry.ts';

/** The most simultaneous writes that are not slow. */
const most = 4;

/** The most slow writes in addition. They mostly wait for admission. */
const mostSlow = 8;

interface Item {
  namespace: string;
}

export interface WriterOptions<T extends Item> {
  /** Never rejects. */
  write: (item: T) => Promise<void>;
  now: () => Millis;
  schedule: Schedule;
}

interface Flight {
  since: Millis;
  isOverdue: boolean;
  isSlow: boolean;
  /** Lets another write begin in place of this one. */
  leave: () => void;
  ended: Promise<void>;
}

/** Each Event is of another namespace, so one that is slow, throttled or being deleted delays only one write. */
export function createWriter<T extends Item>({ write, now, schedule }: WriterOptions<T>) {
  const flights = new Map<string, Flight>();
  const wasSlow = createCooldown<string>(delays.wasSlow, now);

  return {
    get size(): number {
      return flights.size;
    },
    /** Writes items in order while `mayGoOn`. Resolves to the items that were not begun, when each of the others is finished or slow. */
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
    settled: async (): Promise<void> => void (await Promise.all([...flights.values()].map(({ ended }) => ended))),
  };

  /** Returns when to check a busy namespace again; undefined if it is not busy. */
  function busyUntil(namespace: string): Millis | undefined {
    const flight = flights.get(namespace);
    // The intervals grow, so that a slow write needs few checks.
    if (flight !== undefined) return now() + Math.max(delays.slow, now() - flight.since);
    return countOfSlow() >= mostSlow && wasSlow.has(namespace) ? now() + delays.slow : undefined;
  }

  /** Resolves when another write may begin in place of this one. */
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
