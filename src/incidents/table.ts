import type { Failing, FailureSign, Millis, ObjectRef, Sign, SyncSign } from '../model.ts';
import type { Incident, IncidentChange } from './incident.ts';
import { createLifecycle, increase } from './lifecycle.ts';
import { noteEnd, noteSuccess } from './proof.ts';
import { restartReason } from './restart-reason.ts';
import { containerOf, type CourseOf, restarting } from './rules.ts';
import { type IncidentCounts, type IncidentsState, keyOf, readIncidentsState } from './state.ts';
import { createSyncs } from './syncs.ts';
import {
  describe,
  noteAttempt,
  noteConsequence,
  noteFamily,
  noteForeignHand,
  noteRestart,
  shortened,
  type Watched,
  wasAhead,
  watch,
} from './watched.ts';

/** What is wrong with one node: one incident for each cause and program that fails, however many lines tell of it. */
export interface IncidentTable {
  take: (sign: Sign, time: Millis, culprit: ObjectRef | undefined) => void;
  /** A container of a program was started anew: `pod` is its Pod, `lastWords` the last error line before. */
  restarted: (failing: Failing, pod: ObjectRef | undefined, time: Millis, lastWords: string | undefined) => void;
  /** Suspected, open or over. */
  find: (code: string, failing: Failing) => Incident | undefined;
  /** Something else bears it out: what is suspected is an incident, though it was seen only once. */
  bearOut: (code: string, failing: Failing) => void;
  /** Ends what silence has ended, forgets what is long over. `now`: what the clock says that stamps the lines. */
  tick: (now: Millis) => void;
  /** When `tick` has something to do at the earliest; Infinity. */
  readonly nextTick: Millis;
  /** Whether `tick` has something to do because the clock was set back. */
  wasAhead: (now: Millis) => boolean;
  /** Suspected, open and over ones. */
  readonly incidents: readonly Incident[];
  readonly counts: Readonly<IncidentCounts>;
  /** Attempts that failed and made no incident, by code; those of the last minutes may still do. */
  readonly unrepeated: Readonly<Record<string, number>>;
  /** Another number after every change of what `state` gives, also when a listener has set `untold` or `endUntold`. */
  readonly revision: number;
  /** All that the table is, as plain JSON. */
  state: () => IncidentsState;
}

export interface IncidentTableOptions {
  /** What an earlier table was when its `state` was taken; what is none is taken for nothing. */
  restored?: IncidentsState | undefined;
  courseOf: CourseOf;
  /**
   * Called at once. It may tell later: what it has not told by then (`untold` and `endUntold` of the incident) is offered
   * again by the next table that is restored, before that does anything else.
   */
  onChange: (change: IncidentChange) => void;
  /** Whether somebody is still to be told of one, beside `untold` and `endUntold`: then it is not forgotten. */
  isNeeded?: ((incident: Incident) => boolean) | undefined;
}

export function createIncidentTable({ restored, courseOf, onChange, isNeeded }: IncidentTableOptions): IncidentTable {
  const kept = readIncidentsState(restored, courseOf);
  /** There are no more than there are causes and programs: a node with 10,000 errors a minute has a handful. */
  const table = new Map(kept.incidents.map((watched) => [keyOf(watched.incident), watched]));
  const syncs = createSyncs(kept.syncs);
  const { counts } = kept;
  const { fail, confirm, succeed, settle, dueOf } = createLifecycle({
    counts,
    onChange,
    isTold: (incident) => incident.untold === 0 && !incident.endUntold && isNeeded?.(incident) !== true,
    willTell: ({ incident: { code, failing } }) => isProvenBySync(code) && syncs.tells(failing),
    rhythmOf: ({ incident: { code, failing } }) =>
      (isProvenBySync(code) ? syncs.retryOf(failing) : undefined) ?? courseOf(code).rhythm,
  });
  let untoldBefore = untold();
  let mustOffer = untoldBefore > 0;
  let revision = 0;

  return {
    counts,
    get incidents() {
      return [...table.values()].map(({ incident }) => incident);
    },
    get unrepeated() {
      const found = { ...counts.flaps };
      for (const { incident, attempts } of table.values())
        if (incident.phase === 'suspected') increase(found, incident.code, attempts.length);
      return found;
    },
    get nextTick() {
      return mustOffer ? 0 : Math.min(Infinity, ...[...table.values()].map(dueOf));
    },
    wasAhead: (now) => table.values().some((watched) => wasAhead(watched, now, true)),
    get revision() {
      const now = untold();
      if (now !== untoldBefore) revision++;
      untoldBefore = now;
      return revision;
    },
    state: () => structuredClone({ incidents: [...table.values()], syncs: syncs.state(), counts }),
    take(sign, time, culprit) {
      offer();
      settleAll(inContainer(containerOf(sign.failing)), time, false);
      // Most lines are of syncs that went well on a node where all is well.
      if (sign.kind !== 'sync-complete' || table.size > 0) revision++;
      const family = sign.family === 'IPv4' || sign.family === 'IPv6' ? sign.family : '';
      switch (sign.kind) {
        case 'failure':
          return takeFailure({ ...sign, family }, time, culprit);
        case 'sync-failed':
          return takeSyncFailed({ ...sign, family }, time);
        case 'sync-complete':
          return takeSyncComplete({ ...sign, family }, time);
        default:
          sign satisfies never;
      }
    },
    restarted(failing, pod, time, lastWords) {
      offer();
      const container = containerOf(failing);
      settleAll(inContainer(container), time, false);
      revision++;
      increase(counts.restarts, container);
      takeRestart(container, pod, time, lastWords);
      syncs.restarted(container);
      for (const watched of inContainer(container)) {
        watched.inThisLife = false;
        watched.unfinished = false;
        // It died of it, or with it: no line will tell any more how that attempt ended.
        confirm(watched);
      }
    },
    find: (code, failing) => table.get(keyOf({ code, failing }))?.incident,
    bearOut(code, failing) {
      offer();
      const watched = table.get(keyOf({ code, failing }));
      if (watched?.incident.phase !== 'suspected') return;
      revision++;
      watched.doubtful = true;
      confirm(watched);
    },
    tick(now) {
      offer();
      settleAll([...table.values()], now, true);
    },
  };

  function takeFailure(sign: FailureSign, time: Millis, culprit: ObjectRef | undefined): void {
    const watched = watchedOf(sign.code, sign.failing, time);
    syncs.toldWhy(sign.failing, sign.family, time);
    describe(watched, sign, culprit);
    watched.unfinished = true;
    watched.inThisLife = true;
    const isHand = sign.subject !== undefined && courseOf(sign.code).isForeignHand === true;
    fail(watched, time, isHand ? noteForeignHand : noteAttempt);
  }

  function takeSyncFailed({ failing, family, retry }: SyncSign, time: Millis): void {
    const isExplained = syncs.failed(failing, family, time, retry);
    for (const watched of provable(failing)) if (noteEnd(watched, family)) confirm(watched);
    if (isExplained) return;
    // Why it failed is not known: perhaps the line was lost. So it opens nothing, but nothing is over either.
    const [latest, ...others] = provable(failing)
      .filter(({ incident }) => incident.phase === 'open')
      .toSorted((a, b) => b.incident.last - a.incident.last);
    for (const { incident, healthy } of others)
      if (healthy === undefined) incident.last = Math.max(incident.last, time);
    if (latest === undefined) return;
    noteFamily(latest, family);
    fail(latest, time, noteAttempt);
  }

  function takeSyncComplete({ failing, family }: SyncSign, time: Millis): void {
    if (syncs.completed(failing, family)) {
      revision++;
      return;
    }
    for (const watched of provable(failing)) {
      if (noteSuccess(watched, family, time, syncs.tells(failing))) succeed(watched, time);
    }
  }

  /** A program that cannot run for a reason that is known is started anew in vain: that is no incident of its own. */
  function takeRestart(
    container: Failing,
    pod: ObjectRef | undefined,
    time: Millis,
    lastWords: string | undefined,
  ): void {
    const reason = restartReason(inContainer(container), courseOf);
    const watched = reason ?? watchedOf(restarting, container, time);
    const { incident } = watched;
    incident.restarts++;
    if (pod !== undefined) incident.culprit = pod;
    if (reason !== undefined) return fail(reason, time, noteConsequence);
    if (incident.phase !== 'open') incident.quote = shortened(lastWords ?? '');
    fail(watched, time, noteRestart);
  }

  /**
   * Does what was due up to then. It is done at the latest before the next line of the same container is looked at, so that
   * it makes no difference how often `tick` is called.
   */
  function settleAll(all: readonly Watched[], now: Millis, isClock: boolean): void {
    for (const watched of all) {
      const outcome = settle(watched, now, isClock);
      if (outcome !== 'same') revision++;
      if (outcome === 'forgotten') table.delete(keyOf(watched.incident));
    }
  }

  function offer(): void {
    if (!mustOffer) return;
    mustOffer = false;
    for (const { incident } of table.values()) {
      const isNew = incident.untold === incident.failures;
      if (incident.untold > 0) onChange({ kind: isNew ? 'opened' : 'continued', incident });
      if (incident.endUntold) onChange({ kind: 'closed', incident });
    }
  }

  function untold(): number {
    let sum = 0;
    for (const { incident } of table.values()) sum += incident.untold + (incident.endUntold ? 1 : 0);
    return sum;
  }

  function watchedOf(code: string, failing: Failing, time: Millis): Watched {
    const key = keyOf({ code, failing });
    let watched = table.get(key);
    if (watched === undefined) table.set(key, (watched = watch(code, failing, time)));
    return watched;
  }

  function isProvenBySync(code: string): boolean {
    return courseOf(code).provenBySync === true;
  }

  function inContainer(container: Failing): Watched[] {
    return [...table.values()].filter(({ incident }) => containerOf(incident.failing) === container);
  }

  function provable(failing: Failing): Watched[] {
    return [...table.values()].filter(({ incident }) => incident.failing === failing && isProvenBySync(incident.code));
  }
}
