import type { Millis } from '../../../base/model/log-line.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { type Incident, type IncidentChange, isUnpublished, type TrackedFailure } from '../incident.ts';
import { attemptSpan, type Syncs } from './programs.ts';
import { type AttemptNote, correctStamps, flapMemory, takeBackAttempt } from './attempts.ts';

/** Numbers since the very first run, by code. */
export interface IncidentCounts {
  /** All failures, including those that made no incident. */
  failures: Record<string, number>;
  opened: Record<string, number>;
  closed: Record<string, number>;
  /** Failed attempts that made no incident, because no further one followed or the attempt succeeded after all. */
  flaps: Record<string, number>;
}

/** How long after its latest error an attempt may still succeed. A large restore takes seconds. */
const verdictTime: Millis = 10_000;
/** The shortest silence that ends an incident. Even retries of every few seconds may pause for a minute. */
const leastSilence: Millis = 90_000;

type NoteFailure = (tracked: TrackedFailure, time: Millis, retryInterval: Millis) => AttemptNote;

export interface Lifecycle {
  confirm: (tracked: TrackedFailure) => void;
  fail(tracked: TrackedFailure, time: Millis, note: NoteFailure): void;
  /** Notes that all families have succeeded. */
  succeed(tracked: TrackedFailure, time: Millis): void;
  /** Does the next step if it is due at `now`. `isKept`: the incident must not be forgotten yet. */
  settle(tracked: TrackedFailure, now: Millis, isKept: boolean): 'same' | 'changed' | 'forgotten';
  dueOf: (tracked: TrackedFailure) => Millis;
}

/** Decides how an incident begins, continues and ends, and appends changes to `changes`. */
export function createLifecycle(syncs: Syncs, counts: IncidentCounts, changes: IncidentChange[]): Lifecycle {
  return {
    confirm,
    fail(tracked: TrackedFailure, time: Millis, note: NoteFailure): void {
      const { incident } = tracked;
      const { code, failing } = incident;
      increase(counts.failures, code);
      incident.failures++;
      incident.first = Math.min(incident.first, time);
      incident.last = Math.max(incident.last, time);
      const { repeats, flaps } = note(tracked, time, retryIntervalOf(incident, syncs));
      increase(counts.flaps, code, flaps);
      if (tracked.healthy !== undefined) tracked.fight = true;
      tracked.healthy = undefined;
      if (incident.phase === 'suspected') {
        if (repeats) tracked.doubtful = true;
        // If a later line will say how the attempt ended, wait for it: the attempt may still succeed.
        if (causeOf(code).endsWithSync !== true || !syncs.reportsFailures(failing)) confirm(tracked);
      } else if (incident.phase === 'open') {
        incident.unpublished++;
        changes.push({ kind: 'continued', incident });
      } else {
        // The failure came back so soon that it certainly lasts. A flapping problem must not count as many incidents.
        tracked.fight = true;
        open(tracked, time, incident.unpublished + 1);
      }
    },
    succeed(tracked: TrackedFailure, time: Millis): void {
      const { incident, unfinished } = tracked;
      if (incident.phase === 'suspected' && unfinished) increase(counts.flaps, incident.code, takeBackAttempt(tracked));
      tracked.doubtful = false;
      // One success does not end an incident that has come back after a success before.
      if (incident.phase === 'open' && !tracked.fight) close(tracked, time, 'success', time);
      else tracked.healthy = time;
    },
    settle(tracked: TrackedFailure, now: Millis, isKept: boolean): 'same' | 'changed' | 'forgotten' {
      const { incident } = tracked;
      const outcome = correctStamps(tracked, now) ? 'changed' : 'same';
      const due = dueOf(tracked, syncs);
      if (now < due) return outcome;
      if (tracked.doubtful) confirm(tracked);
      else if (incident.phase === 'open') closeQuiet(tracked, due);
      else if (isUnpublished(incident) || isKept) return outcome;
      else {
        if (incident.phase === 'suspected') increase(counts.flaps, incident.code, tracked.attempts.length);
        return 'forgotten';
      }
      return 'changed';
    },
    dueOf: (tracked: TrackedFailure): Millis => dueOf(tracked, syncs),
  };

  function confirm(tracked: TrackedFailure): void {
    if (tracked.doubtful) open(tracked, tracked.heard, tracked.incident.failures);
  }

  function open(tracked: TrackedFailure, time: Millis, failures: number): void {
    setOpen(tracked, time, failures);
    increase(counts.opened, tracked.incident.code);
    changes.push({ kind: 'opened', incident: tracked.incident });
  }

  function close(tracked: TrackedFailure, ended: Millis, endedBy: Incident['endedBy'], closed: Millis): void {
    setOver(tracked, ended, endedBy, closed);
    increase(counts.closed, tracked.incident.code);
    changes.push({ kind: 'closed', incident: tracked.incident });
  }

  function closeQuiet(tracked: TrackedFailure, due: Millis): void {
    const { incident, healthy } = tracked;
    if (healthy !== undefined) return close(tracked, healthy, 'success', due);
    // The retry after the last failure did not fail, so that was the end.
    close(tracked, Math.min(incident.last + retryIntervalOf(incident, syncs), due), 'silence', due);
  }
}

function retryIntervalOf({ code, failing }: Incident, syncs: Syncs): Millis {
  const { endsWithSync, retryInterval } = causeOf(code);
  return (endsWithSync ? syncs.retryOf(failing) : undefined) ?? retryInterval;
}

function dueOf({ incident, closed, fight, longestGap, doubtful, heard }: TrackedFailure, syncs: Syncs): Millis {
  if (incident.phase === 'over') return (closed ?? incident.last) + flapMemory;
  if (doubtful) return heard + verdictTime;
  const retryInterval = retryIntervalOf(incident, syncs);
  // A failure that is retried only once an hour must not be forgotten between two retries.
  if (incident.phase === 'suspected') return incident.last + Math.max(flapMemory, 2 * retryInterval + attemptSpan);
  // A failure that comes back after successes is over once it stays away for twice its longest gap.
  const pause = fight ? Math.min(2 * longestGap, flapMemory) : 0;
  return incident.last + Math.max(3 * retryInterval, leastSilence, pause);
}

function setOpen(tracked: TrackedFailure, time: Millis, failures: number): void {
  const { incident } = tracked;
  tracked.doubtful = false;
  tracked.closed = undefined;
  incident.phase = 'open';
  incident.opened ??= Math.max(time, incident.first);
  incident.ended = undefined;
  incident.endedBy = undefined;
  incident.unpublished = failures;
  // An end that no Event has reported yet no longer needs one.
  incident.endUnpublished = false;
}

function setOver(tracked: TrackedFailure, ended: Millis, endedBy: Incident['endedBy'], closed: Millis): void {
  const { incident } = tracked;
  tracked.healthy = undefined;
  tracked.broken = [];
  tracked.closed = closed;
  incident.phase = 'over';
  incident.ended = ended;
  incident.endedBy = endedBy;
  incident.endUnpublished = true;
}

export function increase(counts: Record<string, number>, what: string, by = 1): void {
  if (by > 0) counts[what] = (counts[what] ?? 0) + by;
}
