import type { Millis } from '../model/log-line.ts';

/** Returns milliseconds since the epoch. Changes of the wall clock do not affect it, so it suits times within one run. */
export function steadyNow(): Millis {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** Returns CLOCK_MONOTONIC: the time since the machine started, without sleep. It suits times that outlive a restart of this process. */
export function monotonicNow(): Millis {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns the processor time of this thread, which stands still while the thread waits for a processor. */
export function processorTime(): Millis {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Converts between the steady clock, for all times inside the agent, and the wall clock as it is set now, for stamps in and out. */
export interface Clock {
  now: () => Millis;
  wall: () => Millis;
  fromWall: (stamp: Millis) => Millis;
  toWall: (time: Millis) => Millis;
}

/** Smaller differences between the clocks are ignored, so that times equal the log's to the millisecond. */
const smallestStep: Millis = 1000;

export function createSteadyClock(now: () => Millis = steadyNow, wall: () => Millis = Date.now): Clock {
  let ahead: Millis = 0;
  return { now, wall, fromWall: (stamp) => stamp - stepped(), toWall: (time) => time + stepped() };

  function stepped(): Millis {
    const current = wall() - now();
    if (Math.abs(current - ahead) >= smallestStep) ahead = Math.round(current);
    return ahead;
  }
}
