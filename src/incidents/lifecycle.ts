import type { Millis } from '../model.ts';
import type { Incident, IncidentChange } from './incident.ts';
import { calmOf, memory, patienceOf, verdictTime } from './rules.ts';
import type { IncidentCounts } from './state.ts';
import { type Noted, setClock, takeBackAttempt, type Watched } from './watched.ts';

export interface LifecycleOptions {
  /** About how long after a failure the next one comes while it lasts. */
  rhythmOf: (watched: Watched) => Millis;
  /** Whether a line will tell that an attempt failed: a complaint before that may be of one that succeeds. */
  willTell: (watched: Watched) => boolean;
  /** Whether all that is to be told of one has been: the API server may be away for longer than anything is remembered. */
  isTold: (incident: Incident) => boolean;
  counts: IncidentCounts;
  onChange: (change: IncidentChange) => void;
}

/** How one incident begins, goes on and ends, whatever it is of. */
export interface Lifecycle {
  fail: (watched: Watched, time: Millis, note: (watched: Watched, time: Millis, rhythm: Millis) => Noted) => void;
  /** The attempt that it failed in has failed. */
  confirm: (watched: Watched) => void;
  /** All that had failed has succeeded. */
  succeed: (watched: Watched, time: Millis) => void;
  /**
   * Does what was due up to then: gives whether something changed, and whether it can be forgotten. `isClock`: `now` is what the
   * clock says, and not the time of a line.
   */
  settle: (watched: Watched, now: Millis, isClock: boolean) => 'same' | 'changed' | 'forgotten';
  /** When `settle` has something to do. */
  dueOf: (watched: Watched) => Millis;
}

export function createLifecycle({ rhythmOf, willTell, isTold, counts, onChange }: LifecycleOptions): Lifecycle {
  return {
    dueOf,
    fail(watched, time, note) {
      const { incident } = watched;
      const { code } = incident;
      increase(counts.failures, code);
      incident.failures++;
      incident.first = Math.min(incident.first, time);
      incident.last = Math.max(incident.last, time);
      const { repeats, flaps } = note(watched, time, rhythmOf(watched));
      increase(counts.flaps, code, flaps);
      if (watched.healthy !== undefined) watched.fight = true;
      watched.healthy = undefined;
      switch (incident.phase) {
        case 'suspected':
          if (repeats) watched.doubtful = true;
          if (!willTell(watched)) confirm(watched);
          return;
        case 'open':
          incident.untold++;
          return onChange({ kind: 'continued', incident });
        case 'over':
          // Known, and back so soon: there is no doubt any more, and what flaps must not be told as many.
          watched.fight = true;
          return begin(watched, time, incident.untold + 1);
        default:
          incident.phase satisfies never;
      }
    },
    confirm,
    succeed(watched, time) {
      const { incident, unfinished } = watched;
      if (incident.phase === 'suspected' && unfinished) increase(counts.flaps, incident.code, takeBackAttempt(watched));
      watched.doubtful = false;
      // What failed, was well and failed again is not over because it is well again.
      if (watched.incident.phase === 'open' && !watched.fight) end(watched, time, 'success', time);
      else watched.healthy = time;
    },
    settle(watched, now, isClock) {
      const { incident } = watched;
      let outcome: 'same' | 'changed' = setClock(watched, now, isClock) ? 'changed' : 'same';
      if (now < dueOf(watched)) return outcome;
      if (watched.doubtful) {
        confirm(watched);
        outcome = 'changed';
        if (now < dueOf(watched)) return outcome;
      }
      if (incident.phase === 'open') {
        endByCalm(watched, dueOf(watched));
        outcome = 'changed';
        if (now < dueOf(watched)) return outcome;
      }
      if (incident.phase === 'suspected') increase(counts.flaps, incident.code, watched.attempts.length);
      return isTold(incident) ? 'forgotten' : outcome;
    },
  };

  function confirm(watched: Watched): void {
    if (watched.doubtful) begin(watched, watched.heard, watched.incident.failures);
  }

  function begin(watched: Watched, time: Millis, failures: number): void {
    const { incident } = watched;
    watched.doubtful = false;
    watched.closed = undefined;
    incident.phase = 'open';
    incident.opened ??= Math.max(time, incident.first);
    incident.ended = undefined;
    incident.endedBy = undefined;
    incident.untold = failures;
    // An end that nobody was told of was none.
    incident.endUntold = false;
    increase(counts.opened, incident.code);
    onChange({ kind: 'opened', incident });
  }

  function endByCalm(watched: Watched, due: Millis): void {
    const { incident, healthy } = watched;
    if (healthy !== undefined) return end(watched, healthy, 'success', due);
    // One rhythm after its last failure it would have failed again: that it did not is the first that is known of its end.
    end(watched, Math.min(incident.last + rhythmOf(watched), due), 'silence', due);
  }

  function end(watched: Watched, ended: Millis, endedBy: Incident['endedBy'], closed: Millis): void {
    const { incident } = watched;
    watched.healthy = undefined;
    watched.broken = [];
    watched.closed = closed;
    incident.phase = 'over';
    incident.ended = ended;
    incident.endedBy = endedBy;
    incident.endUntold = true;
    increase(counts.closed, incident.code);
    onChange({ kind: 'closed', incident });
  }

  /** When it is begun without further doubt, when silence ends it, or when it is forgotten. */
  function dueOf(watched: Watched): Millis {
    const { incident, closed, fight, longestGap, doubtful, heard } = watched;
    switch (incident.phase) {
      case 'suspected':
        return doubtful ? heard + verdictTime : incident.last + patienceOf(rhythmOf(watched));
      case 'open':
        return incident.last + calmOf(fight, longestGap, rhythmOf(watched));
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
