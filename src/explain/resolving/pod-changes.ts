import type { Millis } from '../../base/model/log-line.ts';
import type { Pod } from './objects.ts';

/** The tolerance of times, because time stamps in the API are cut to seconds, and the log's clock may be a little wrong. */
export const timeTolerance: Millis = 2000;

export interface TimeSpan {
  from: Millis;
  until: Millis;
}

export interface PodChanges {
  forget(): void;
  /** Returns the time from the last change until `time` to the next one. */
  spanAround(time: Millis): TimeSpan;
}

/** Finds the times at which Pods get or lose addresses. Call `forget` when `pods` has changed. */
export function createPodChanges(pods: ReadonlySet<Pod>): PodChanges {
  let isAsked = false;
  let sorted: Float64Array | undefined;

  return {
    forget(): void {
      isAsked = false;
      sorted = undefined;
    },
    spanAround(time: Millis): TimeSpan {
      // Sorting takes as long as ten searches of all Pods. An agent's Pods may change between two questions, those of a saved cluster do not.
      if (isAsked) sorted ??= sortedChanges(pods);
      isAsked = true;
      return sorted === undefined ? spanAmong(pods, time) : spanIn(sorted, time);
    },
  };
}

function spanAmong(pods: Iterable<Pod>, time: Millis): TimeSpan {
  const span = { from: -Infinity, until: Infinity };
  for (const pod of pods)
    for (const change of changesOf(pod)) {
      if (change > time) span.until = Math.min(span.until, change);
      else span.from = Math.max(span.from, change);
    }
  return span;
}

function sortedChanges(pods: ReadonlySet<Pod>): Float64Array {
  const times = new Float64Array(3 * pods.size);
  let size = 0;
  for (const pod of pods) for (const change of changesOf(pod)) times[size++] = change;
  return times.toSorted();
}

function spanIn(times: Float64Array, time: Millis): TimeSpan {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as Millis) > time) high = middle;
    else low = middle + 1;
  }
  return { from: times[low - 1] ?? -Infinity, until: times[low] ?? Infinity };
}

/** At `from - timeTolerance`, `holder` begins to find the Pod. */
function changesOf({ from, until }: Pod): [Millis, Millis, Millis] {
  return [from - timeTolerance, from, until];
}
