import type { Millis } from '../model/log-line.ts';

/** Milliseconds since the epoch, unmoved by a corrected wall clock. For intervals, budgets, ages and order within one run. */
export function steadyNow(): Millis {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** CLOCK_MONOTONIC: since the machine was started, sleep not counted. For intervals over a restart of this process. */
export function monotonicNow(): Millis {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The steady clock, which all times inside the agent are of, and the wall clock, which stamps what comes in and goes out. */
export interface Clock {
  now: () => Millis;
  wall: () => Millis;
  /** The steady time of a stamp of the wall clock, as that is set now. */
  fromWall: (stamp: Millis) => Millis;
  /** The time of the wall clock, as it is set now, at a steady time. */
  toWall: (time: Millis) => Millis;
}

/** Smaller differences are not followed: without a step, times are those of the log to the millisecond. */
const smallestStep: Millis = 1000;

export function createSteadyClock(now: () => Millis = steadyNow, wall: () => Millis = Date.now): Clock {
  let ahead: Millis = 0;
  return { now, wall, fromWall: (stamp) => stamp - stepped(), toWall: (time) => time + stepped() };

  /** The time by which the wall clock was set forward since this process began. */
  function stepped(): Millis {
    const current = wall() - now();
    if (Math.abs(current - ahead) >= smallestStep) ahead = Math.round(current);
    return ahead;
  }
}
