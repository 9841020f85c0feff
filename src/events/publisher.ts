import type { Millis } from '../model/log-line.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { type BatchesOptions, createBatches } from './batches.ts';

export interface Publisher {
  /** Writes what is due, for ever. Resolves after `stop`. */
  run: () => Promise<void>;
  /** Something is due earlier than it was. */
  wake: () => void;
  /** Ends `run`; with what is due now still written, if that takes no longer than `grace`. */
  stop: (grace: Millis) => Promise<void>;
}

/** A timer longer than 2^31 ms fires at once. */
const longestSleep: Millis = 3_600_000;

/** The cold path: one batch after another, most urgent first, and never given up while there is hope. */
export function createPublisher(options: BatchesOptions): Publisher {
  const { table, now, schedule = systemSchedule } = options;
  const [untilDue, backOff] = [createPause(schedule), createPause(schedule)];
  const batches = createBatches(options, untilDue.end);
  const stopping = new AbortController();
  let finished: Promise<void> = Promise.resolve();

  return {
    run: () => (finished = run()),
    wake: untilDue.end,
    async stop(grace) {
      const deadline = now() + grace;
      stopping.abort();
      untilDue.end();
      backOff.end();
      const timeOut = Promise.withResolvers<void>();
      const cancel = schedule(timeOut.resolve, grace);
      await Promise.race([finished.then(() => flush(deadline)), timeOut.promise]);
      cancel();
    },
  };

  function isStopping(): boolean {
    return stopping.signal.aborted;
  }

  async function run(): Promise<void> {
    while (!isStopping()) {
      const wait = table.nextDue() - now();
      if (wait > 0) {
        await untilDue.wait(Math.min(wait, longestSleep));
        continue;
      }
      const refusedFor = await batches.write(() => !isStopping());
      if (refusedFor !== undefined && !isStopping()) await backOff.wait(refusedFor);
    }
  }

  /** What is due at the end is written once, without waiting for a server that is away. */
  async function flush(deadline: Millis): Promise<void> {
    const mayGoOn = (): boolean => now() < deadline;
    while (mayGoOn() && table.nextDue() <= now()) if ((await batches.write(mayGoOn)) !== undefined) break;
    await batches.settled();
  }
}

function createPause(schedule: Schedule): { wait: (duration: Millis) => Promise<void>; end: () => void } {
  let resolve: (() => void) | undefined;
  return {
    async wait(duration) {
      const ended = Promise.withResolvers<void>();
      resolve = ended.resolve;
      const cancel = schedule(ended.resolve, duration);
      await ended.promise;
      cancel();
    },
    end: () => resolve?.(),
  };
}
