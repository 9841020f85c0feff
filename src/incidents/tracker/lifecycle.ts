import type { Millis } from '../../model/log-line.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { type Incident, type IncidentChange, isUnpublished } from '../incident.ts';
import { memory, quietPeriodOf, timeoutOf, verdictTime } from './rules.ts';
import type { IncidentCounts } from './state.ts';
import type { Syncs } from './syncs.ts';
import { correctStamps, type Noted, takeBackAttempt, type TrackedFailure } from './tracked.ts';

export interface LifecycleOptions {
  syncs: Syncs;
  counts: IncidentCounts;
  onChange: (change: IncidentChange) => void;
  /** Whether it is not to be forgotten, although all of it is published. */
  isNeeded: (incident: Incident) => boolean;
}

type NoteFailure = (tracked: TrackedFailure, time: Millis, retryInterval: Millis) => Noted;

export type Lifecycle = ReturnType<typeof createLifecycle>;

/** How one incident begins, goes on and ends, whatever it is of. */
export function createLifecycle({ syncs, counts, onChange, isNeeded }: LifecycleOptions) {
  return {
    /** The attempt that it failed in has failed. */
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
        // Where a line will say that the attempt failed, a problem logged before may be of one that succeeds.
        if (causeOf(code).endsWithSync !== true || !syncs.reportsFailures(failing)) confirm(tracked);
      } else if (incident.phase === 'open') {
        incident.unpublished++;
        onChange({ kind: 'continued', incident });
      } else {
        // Known, and back so soon: there is no doubt any more, and what flaps must not be published as many.
        tracked.fight = true;
        open(tracked, time, incident.unpublished + 1);
      }
    },
    /** All that had failed has succeeded. */
    succeed(tracked: TrackedFailure, time: Millis): void {
      const { incident, unfinished } = tracked;
      if (incident.phase === 'suspected' && unfinished) increase(counts.flaps, incident.code, takeBackAttempt(tracked));
      tracked.doubtful = false;
      // What failed, was well and failed again is not over because it is well again.
      if (incident.phase === 'open' && !tracked.fight) close(tracked, time, 'success', time);
      else tracked.healthy = time;
    },
    /** Does what was due up to then: gives whether something changed, and whether it can be forgotten. */
    settle(tracked: TrackedFailure, now: Millis): 'same' | 'changed' | 'forgotten' {
      const { incident } = tracked;
      let outcome: 'same' | 'changed' = correctStamps(tracked, now) ? 'changed' : 'same';
      while (now >= dueOf(tracked, syncs)) {
        if (tracked.doubtful) confirm(tracked);
        else if (incident.phase === 'open') closeQuiet(tracked, dueOf(tracked, syncs));
        else {
          if (incident.phase === 'suspected') increase(counts.flaps, incident.code, tracked.attempts.length);
          return isUnpublished(incident) || isNeeded(incident) ? outcome : 'forgotten';
        }
        outcome = 'changed';
      }
      return outcome;
    },
    /** When `settle` has something to do: when it begins without further doubt, when silence ends it, or when it is forgotten. */
    dueOf: (tracked: TrackedFailure): Millis => dueOf(tracked, syncs),
  };

  function confirm(tracked: TrackedFailure): void {
    if (tracked.doubtful) open(tracked, tracked.heard, tracked.incident.failures);
  }

  function open(tracked: TrackedFailure, time: Millis, failures: number): void {
    setOpen(tracked, time, failures);
    increase(counts.opened, tracked.incident.code);
    onChange({ kind: 'opened', incident: tracked.incident });
  }

  function close(tracked: TrackedFailure, ended: Millis, endedBy: Incident['endedBy'], closed: Millis): void {
    setOver(tracked, ended, endedBy, closed);
    increase(counts.closed, tracked.incident.code);
    onChange({ kind: 'closed', incident: tracked.incident });
  }

  function closeQuiet(tracked: TrackedFailure, due: Millis): void {
    const { incident, healthy } = tracked;
    if (healthy !== undefined) return close(tracked, healthy, 'success', due);
    // One retry interval after its last failure it would have failed again: that it did not is the first sign of its end.
    close(tracked, Math.min(incident.last + retryIntervalOf(incident, syncs), due), 'silence', due);
  }
}

/** About how long after a failure the next one comes while it lasts. */
function retryIntervalOf({ code, failing }: Incident, syncs: Syncs): Millis {
  const { endsWithSync, retryInterval } = causeOf(code);
  return (endsWithSync ? syncs.retryOf(failing) : undefined) ?? retryInterval;
}

function dueOf({ incident, closed, fight, longestGap, doubtful, heard }: TrackedFailure, syncs: Syncs): Millis {
  if (incident.phase === 'over') return (closed ?? incident.last) + memory;
  if (doubtful) return heard + verdictTime;
  const retryInterval = retryIntervalOf(incident, syncs);
  if (incident.phase === 'suspected') return incident.last + timeoutOf(retryInterval);
  return incident.last + quietPeriodOf(fight, longestGap, retryInterval);
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
  // An end that was not published was none.
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
