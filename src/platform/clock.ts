import type { Millis } from '../model/log-line.ts';

/** Milliseconds since the epoch, whatever becomes of the wall clock, for times within one run. */
export function steadyNow(): Millis {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** CLOCK_MONOTONIC: since the start of the machine, without sleep, for times over a restart of this process. */
export function monotonicNow(): Millis {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The steady clock, for all times inside the agent, and the wall clock, for stamps that come in and go out. */
export interface Clock {
  now: () => Millis;
  wall: () => Millis;
  /** The steady time of a stamp, by the wall clock as it is set now. */
  fromWall: (stamp: Millis) => Millis;
  /** What the wall clock, as it is set now, shows at a steady time. */
  toWall: (time: Millis) => Millis;
}

/** Smaller differences are ignored, so that times are those of the log to the millisecond. */
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
