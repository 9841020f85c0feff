import type { Millis } from '../../model/log-line.ts';
import type { Incident, IncidentChange } from '../incident.ts';
import { quietPeriodOf, memory, timeoutOf, verdictTime } from './rules.ts';
import type { IncidentCounts } from './state.ts';
import { type Noted, setClock, takeBackAttempt, type TrackedFailure } from './tracked.ts';

export interface LifecycleOptions {
  /** About how long after a failure the next one comes while it lasts. */
  retryIntervalOf: (tracked: TrackedFailure) => Millis;
  /** Whether a line will tell that an attempt failed: a complaint before that may be of one that succeeds. */
  willTell: (tracked: TrackedFailure) => boolean;
  /** Whether all that is to be told of one has been: the API server may be away for longer than anything is remembered. */
  isTold: (incident: Incident) => boolean;
  counts: IncidentCounts;
  onChange: (change: IncidentChange) => void;
}

/** How one incident begins, goes on and ends, whatever it is of. */
export interface Lifecycle {
  fail: (
    tracked: TrackedFailure,
    time: Millis,
    note: (tracked: TrackedFailure, time: Millis, retryInterval: Millis) => Noted,
  ) => void;
  /** The attempt that it failed in has failed. */
  confirm: (tracked: TrackedFailure) => void;
  /** All that had failed has succeeded. */
  succeed: (tracked: TrackedFailure, time: Millis) => void;
  /**
   * Does what was due up to then: gives whether something changed, and whether it can be forgotten. `isClock`: `now` is what the
   * clock says, and not the time of a line.
   */
  settle: (tracked: TrackedFailure, now: Millis, isClock: boolean) => 'same' | 'changed' | 'forgotten';
  /** When `settle` has something to do. */
  dueOf: (tracked: TrackedFailure) => Millis;
}

export function createLifecycle({ retryIntervalOf, willTell, isTold, counts, onChange }: LifecycleOptions): Lifecycle {
  return {
    dueOf,
    fail(tracked, time, note) {
      const { incident } = tracked;
      const { code } = incident;
      increase(counts.failures, code);
      incident.failures++;
      incident.first = Math.min(incident.first, time);
      incident.last = Math.max(incident.last, time);
      const { repeats, flaps } = note(tracked, time, retryIntervalOf(tracked));
      increase(counts.flaps, code, flaps);
      if (tracked.healthy !== undefined) tracked.fight = true;
      tracked.healthy = undefined;
      switch (incident.phase) {
        case 'suspected':
          if (repeats) tracked.doubtful = true;
          if (!willTell(tracked)) confirm(tracked);
          return;
        case 'open':
          incident.unpublished++;
          return onChange({ kind: 'continued', incident });
        case 'over':
          // Known, and back so soon: there is no doubt any more, and what flaps must not be told as many.
          tracked.fight = true;
          return begin(tracked, time, incident.unpublished + 1);
        default:
          incident.phase satisfies never;
      }
    },
    confirm,
    succeed(tracked, time) {
      const { incident, unfinished } = tracked;
      if (incident.phase === 'suspected' && unfinished) increase(counts.flaps, incident.code, takeBackAttempt(tracked));
      tracked.doubtful = false;
      // What failed, was well and failed again is not over because it is well again.
      if (tracked.incident.phase === 'open' && !tracked.fight) end(tracked, time, 'success', time);
      else tracked.healthy = time;
    },
    settle(tracked, now, isClock) {
      const { incident } = tracked;
      let outcome: 'same' | 'changed' = setClock(tracked, now, isClock) ? 'changed' : 'same';
      if (now < dueOf(tracked)) return outcome;
      if (tracked.doubtful) {
        confirm(tracked);
        outcome = 'changed';
        if (now < dueOf(tracked)) return outcome;
      }
      if (incident.phase === 'open') {
        endByQuietPeriod(tracked, dueOf(tracked));
        outcome = 'changed';
        if (now < dueOf(tracked)) return outcome;
      }
      if (incident.phase === 'suspected') increase(counts.flaps, incident.code, tracked.attempts.length);
      return isTold(incident) ? 'forgotten' : outcome;
    },
  };

  function confirm(tracked: TrackedFailure): void {
    if (tracked.doubtful) begin(tracked, tracked.heard, tracked.incident.failures);
  }

  function begin(tracked: TrackedFailure, time: Millis, failures: number): void {
    const { incident } = tracked;
    tracked.doubtful = false;
    tracked.closed = undefined;
    incident.phase = 'open';
    incident.opened ??= Math.max(time, incident.first);
    incident.ended = undefined;
    incident.endedBy = undefined;
    incident.unpublished = failures;
    // An end that nobody was told of was none.
    incident.endUnpublished = false;
    increase(counts.opened, incident.code);
    onChange({ kind: 'opened', incident });
  }

  function endByQuietPeriod(tracked: TrackedFailure, due: Millis): void {
    const { incident, healthy } = tracked;
    if (healthy !== undefined) return end(tracked, healthy, 'success', due);
    // One rhythm after its last failure it would have failed again: that it did not is the first that is known of its end.
    end(tracked, Math.min(incident.last + retryIntervalOf(tracked), due), 'silence', due);
  }

  function end(tracked: TrackedFailure, ended: Millis, endedBy: Incident['endedBy'], closed: Millis): void {
    const { incident } = tracked;
    tracked.healthy = undefined;
    tracked.broken = [];
    tracked.closed = closed;
    incident.phase = 'over';
    incident.ended = ended;
    incident.endedBy = endedBy;
    incident.endUnpublished = true;
    increase(counts.closed, incident.code);
    onChange({ kind: 'closed', incident });
  }

  /** When it is begun without further doubt, when silence ends it, or when it is forgotten. */
  function dueOf(tracked: TrackedFailure): Millis {
    const { incident, closed, fight, longestGap, doubtful, heard } = tracked;
    switch (incident.phase) {
      case 'suspected':
        return doubtful ? heard + verdictTime : incident.last + timeoutOf(retryIntervalOf(tracked));
      case 'open':
        return incident.last + quietPeriodOf(fight, longestGap, retryIntervalOf(tracked));
      case 'over':
        return (closed ?? incident.last) + memory;
      default:
        return incident.phase satisfies never;
    }
  }
}

export function increase(counts: Record<string, number>, what: string, by = 1): void {
  if (by > 0) counts[what] = (counts[what] ?? 0) + by;
}
