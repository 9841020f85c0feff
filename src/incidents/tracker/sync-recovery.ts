import type { Millis } from '../../model/log-line.ts';
import { attemptSpan, completesWhatFailed } from './rules.ts';
import { isSameFamily } from './syncs.ts';
import type { TrackedFailure } from './tracked.ts';

/** An attempt of that family has failed; gives whether it is the one of the last failure. */
export function noteEnd(tracked: TrackedFailure, family: string): boolean {
  if (!tracked.broken.some((other) => isSameFamily(other, family))) return false;
  tracked.unfinished = false;
  return true;
}

/**
 * An attempt of that family is complete, and nothing says that it failed; gives whether all families have succeeded now.
 * `tells`: whether anything would say so.
 */
export function noteSuccess(tracked: TrackedFailure, family: string, time: Millis, tells: boolean): boolean {
  const { incident, broken, heard } = tracked;
  if (incident.phase === 'over' || !broken.some((other) => isSameFamily(other, family))) return false;
  // A success of before the failure, out of another container's log, says nothing of it.
  if (time < incident.last) return false;
  // Old releases do not log that a sync failed, and log all the same that it is complete.
  if (!tells && completesWhatFailed(incident.failing) && time - heard <= attemptSpan) return false;
  tracked.broken = broken.filter((other) => !isSameFamily(other, family));
  return tracked.broken.length === 0;
}
