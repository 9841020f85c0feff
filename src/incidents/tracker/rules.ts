import type { Millis } from '../../model/log-line.ts';
import type { Failing } from '../../model/program-record.ts';

/** Lines no further apart than this are of one attempt: a restore that fails prints several, each family and table its own. */
export const attemptSpan: Millis = 2000;
/** How long flaps, and incidents that are over, are remembered: what comes back within it is the same trouble. */
export const memory: Millis = 900_000;
/** A container that was started anew so often within that time is not well, whatever it says. */
export const restartsToOpen = 3;
export const restartSpan: Millis = 600_000;
export const restarting = 'KN117';

/** What is retried every few seconds may still pause for a minute: fewer Services change, a lock is free for once. */
const leastSilence: Millis = 90_000;
/** No log is read a day late. A time so far ahead of a later line was written before the clock was set. */
const farAhead: Millis = 86_400_000;
/** Nothing is written in the future: what is ahead of the clock itself was written before it was set back. */
const aheadOfClock: Millis = 300_000;
const [shortestRetry, longestRetry]: [Millis, Millis] = [1000, 3_600_000];

/** How incidents of a cause begin, last and end: part of its row in the catalogue. */
export interface Course {
  /** About how far apart the failures are while it lasts. */
  retryInterval: Millis;
  /** A sync that succeeds shows that it is gone. */
  endsWithSync?: true;
  /** A program that was started again was so for another reason. */
  neverFatal?: true;
  /** Only somebody else can have made away with its subject: two attempts that name one are an incident, whatever succeeds in between. */
  deletedByOthers?: true;
}

/** The row of a code. Throws for one that is not in the catalogue. */
export type CourseOf = (code: string) => Course;

/** kube-proxy logs at the end of each attempt that it is complete, also when it failed; others only when it succeeded. */
export function completesWhatFailed(failing: Failing): boolean {
  return failing === 'kube-proxy';
}

/** What is started anew together: felix, confd and bird run in the container of calico-node. */
export function containerOf(failing: Failing): Failing {
  return failing === 'felix' || failing === 'confd' || failing === 'bird' ? 'calico-node' : failing;
}

/** How long an attempt goes on after its first error, until it says how it ended: a large restore takes seconds. */
export const verdictTime: Millis = 10_000;

/** A retry as the line tells it, within reason; undefined when it tells none. */
export function retryOf(told: Millis | undefined): Millis | undefined {
  if (told === undefined || !(told > 0)) return undefined;
  return Math.min(Math.max(told, shortestRetry), longestRetry);
}

/**
 * How long nothing must have failed until it is over. A fight (it failed again after it had been well) is over only when it
 * has been calm for twice as long as it ever was before, or for as long as anything is remembered.
 */
export function quietPeriodOf(fight: boolean, longestGap: Millis, retryInterval: Millis): Millis {
  return Math.max(3 * retryInterval, leastSilence, fight ? Math.min(2 * longestGap, memory) : 0);
}

/** How long a failure waits for its repeat: what is retried once an hour must not be forgotten before it fails again. */
export function timeoutOf(retryInterval: Millis): Millis {
  return Math.max(memory, 2 * retryInterval + attemptSpan);
}

/** Whether a time is one of a clock that was wrong: beside `now`, which is the clock's, or that of a line that was read later. */
export function isAhead(time: Millis, now: Millis, isClock: boolean): boolean {
  return time > now + (isClock ? aheadOfClock : farAhead);
}
