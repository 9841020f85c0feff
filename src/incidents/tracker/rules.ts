import type { Millis } from '../../model/log-line.ts';
import type { Failing } from '../../model/program-record.ts';

/** Lines no further apart than this are of one attempt: a restore that fails prints several, each family and table its own. */
export const attemptSpan: Millis = 2000;
/** How long flaps, and incidents that are over, are remembered: what comes back within it is the same incident. */
export const memory: Millis = 900_000;
/** A container that was restarted so often within that time is not well, whatever it logs. */
export const restartsToOpen = 3;
export const restartSpan: Millis = 600_000;
/** How long an attempt goes on after its first error, until it logs how it ended: a large restore takes seconds. */
export const verdictTime: Millis = 10_000;

/** What is retried every few seconds may still pause for a minute: fewer Services change, a lock is free for once. */
const leastSilence: Millis = 90_000;
const [shortestRetry, longestRetry]: [Millis, Millis] = [1000, 3_600_000];

/** kube-proxy logs at the end of each attempt that it is complete, also when it failed; others only when it succeeded. */
export function completesWhatFailed(failing: Failing): boolean {
  return failing === 'kube-proxy';
}

/** What is restarted together: felix, confd and bird run in the container of calico-node. */
export function containerOf(failing: Failing): Failing {
  return failing === 'felix' || failing === 'confd' || failing === 'bird' ? 'calico-node' : failing;
}

/** A retry interval as the line has it, within reason; undefined when it has none. */
export function retryOf(logged: Millis | undefined): Millis | undefined {
  if (logged === undefined || !(logged > 0)) return undefined;
  return Math.min(Math.max(logged, shortestRetry), longestRetry);
}

/** How long nothing must have failed until it is over; a fight (failed again after it was well) needs twice its longest gap. */
export function quietPeriodOf(fight: boolean, longestGap: Millis, retryInterval: Millis): Millis {
  return Math.max(3 * retryInterval, leastSilence, fight ? Math.min(2 * longestGap, memory) : 0);
}

/** How long a failure waits for its repeat: what is retried once an hour must not be forgotten before it fails again. */
export function timeoutOf(retryInterval: Millis): Millis {
  return Math.max(memory, 2 * retryInterval + attemptSpan);
}

/** Whether it may be one: '' is any. */
export function isSameFamily(one: string, other: string): boolean {
  return one === '' || other === '' || one === other;
}
