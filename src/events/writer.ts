import type { Millis } from '../model/log-line.ts';
import { createCooldown } from '../platform/back-off.ts';
import type { Schedule } from '../platform/timer.ts';
import { delays } from './retry.ts';

/** Writes in flight that are not slow. */
const most = 4;

/** Slow writes beside them, which mostly wait for admission. */
const mostSlow = 8;

interface Item {
  namespace: string;
}

export interface WriterOptions<T extends Item> {
  /** Never rejects. */
  write: (item: T) => Promise<void>;
  onSlowEnded: () => void;
  now: () => Millis;
  schedule: Schedule;
}

interface Flight {
  since: Millis;
  isOverdue: boolean;
  isSlow: boolean;
  /** Lets another one begin in its place. */
  leave: () => void;
  ended: Promise<void>;
}

/** Writes a few Events at the same time, each of another namespace: one that is slow, throttled or being deleted holds up one write only. */
export function createWriter<T extends Item>({ write, onSlowEnded, now, schedule }: WriterOptions<T>) {
  const flights = new Map<string, Flight>();
  const wasSlow = createCooldown<string>(delays.wasSlow, now);

  return {
    get size(): number {
      return flights.size;
    },
    /** Writes items in order, and resolves to those whose namespaces are busy, when each of the others has ended or is slow. */
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

  /** When to look again at a busy namespace; undefined: it is not. */
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
