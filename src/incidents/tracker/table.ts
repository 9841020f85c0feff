import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing, FailureSign, Sign, SyncSign } from '../../model/program-record.ts';
import type { Incident, IncidentChange } from '../incident.ts';
import { createLifecycle, increase } from './lifecycle.ts';
import { noteEnd, noteSuccess } from './sync-recovery.ts';
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
  type TrackedFailure,
  wasAhead,
  watch,
} from './tracked.ts';

/** What is wrong with one node: one incident for each cause and program that fails, however many lines tell of it. */
export interface IncidentTable {
  take: (sign: Sign, time: Millis, failingPod: ObjectRef | undefined) => void;
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
  /** Another number after every change of what `state` gives, also when a listener has set `unpublished` or `endUnpublished`. */
  readonly revision: number;
  /** All that the table is, as plain JSON. */
  state: () => IncidentsState;
}

export interface IncidentTableOptions {
  /** What an earlier table was when its `state` was taken; what is none is taken for nothing. */
  restored?: IncidentsState | undefined;
  courseOf: CourseOf;
  /**
   * Called at once. It may tell later: what it has not told by then (`unpublished` and `endUnpublished` of the incident) is offered
   * again by the next table that is restored, before that does anything else.
   */
  onChange: (change: IncidentChange) => void;
  /** Whether somebody is still to be told of one, beside `unpublished` and `endUnpublished`: then it is not forgotten. */
  isNeeded?: ((incident: Incident) => boolean) | undefined;
}

export function createIncidentTable({ restored, courseOf, onChange, isNeeded }: IncidentTableOptions): IncidentTable {
  const kept = readIncidentsState(restored, courseOf);
  /** There are no more than there are causes and programs: a node with 10,000 errors a minute has a handful. */
  const table = new Map(kept.incidents.map((tracked) => [keyOf(tracked.incident), tracked]));
  const syncs = createSyncs(kept.syncs);
  const { counts } = kept;
  const { fail, confirm, succeed, settle, dueOf } = createLifecycle({
    counts,
    onChange,
    isTold: (incident) => incident.unpublished === 0 && !incident.endUnpublished && isNeeded?.(incident) !== true,
    willTell: ({ incident: { code, failing } }) => isProvenBySync(code) && syncs.tells(failing),
    retryIntervalOf: ({ incident: { code, failing } }) =>
      (isProvenBySync(code) ? syncs.retryOf(failing) : undefined) ?? courseOf(code).retryInterval,
  });
  let unpublishedBefore = unpublished();
  let mustOffer = unpublishedBefore > 0;
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
    wasAhead: (now) => table.values().some((tracked) => wasAhead(tracked, now, true)),
    get revision() {
      const now = unpublished();
      if (now !== unpublishedBefore) revision++;
      unpublishedBefore = now;
      return revision;
    },
    state: () => structuredClone({ incidents: [...table.values()], syncs: syncs.state(), counts }),
    take(sign, time, failingPod) {
      offer();
      settleAll(inContainer(containerOf(sign.failing)), time, false);
      // Most lines are of syncs that went well on a node where all is well.
      if (sign.kind !== 'sync-complete' || table.size > 0) revision++;
      const family = sign.family === 'IPv4' || sign.family === 'IPv6' ? sign.family : '';
      switch (sign.kind) {
        case 'failure':
          return takeFailure({ ...sign, family }, time, failingPod);
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
      for (const tracked of inContainer(container)) {
        tracked.inThisLife = false;
        tracked.unfinished = false;
        // It died of it, or with it: no line will tell any more how that attempt ended.
        confirm(tracked);
      }
    },
    find: (code, failing) => table.get(keyOf({ code, failing }))?.incident,
    bearOut(code, failing) {
      offer();
      const tracked = table.get(keyOf({ code, failing }));
      if (tracked?.incident.phase !== 'suspected') return;
      revision++;
      tracked.doubtful = true;
      confirm(tracked);
    },
    tick(now) {
      offer();
      settleAll([...table.values()], now, true);
    },
  };

  function takeFailure(sign: FailureSign, time: Millis, failingPod: ObjectRef | undefined): void {
    const tracked = trackedOf(sign.code, sign.failing, time);
    syncs.toldWhy(sign.failing, sign.family, time);
    describe(tracked, sign, failingPod);
    tracked.unfinished = true;
    tracked.inThisLife = true;
    const isHand = sign.subject !== undefined && courseOf(sign.code).deletedByOthers === true;
    fail(tracked, time, isHand ? noteForeignHand : noteAttempt);
  }

  function takeSyncFailed({ failing, family, retry }: SyncSign, time: Millis): void {
    const isExplained = syncs.failed(failing, family, time, retry);
    for (const tracked of provable(failing)) if (noteEnd(tracked, family)) confirm(tracked);
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
    for (const tracked of provable(failing)) {
      if (noteSuccess(tracked, family, time, syncs.tells(failing))) succeed(tracked, time);
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
    const tracked = reason ?? trackedOf(restarting, container, time);
    const { incident } = tracked;
    incident.restarts++;
    if (pod !== undefined) incident.failingPod = pod;
    if (reason !== undefined) return fail(reason, time, noteConsequence);
    if (incident.phase !== 'open') incident.quote = shortened(lastWords ?? '');
    fail(tracked, time, noteRestart);
  }

  /**
   * Does what was due up to then. It is done at the latest before the next line of the same container is looked at, so that
   * it makes no difference how often `tick` is called.
   */
  function settleAll(all: readonly TrackedFailure[], now: Millis, isClock: boolean): void {
    for (const tracked of all) {
      const outcome = settle(tracked, now, isClock);
      if (outcome !== 'same') revision++;
      if (outcome === 'forgotten') table.delete(keyOf(tracked.incident));
    }
  }

  function offer(): void {
    if (!mustOffer) return;
    mustOffer = false;
    for (const { incident } of table.values()) {
      const isNew = incident.unpublished === incident.failures;
      if (incident.unpublished > 0) onChange({ kind: isNew ? 'opened' : 'continued', incident });
      if (incident.endUnpublished) onChange({ kind: 'closed', incident });
    }
  }

  function unpublished(): number {
    let sum = 0;
    for (const { incident } of table.values()) sum += incident.unpublished + (incident.endUnpublished ? 1 : 0);
    return sum;
  }

  function trackedOf(code: string, failing: Failing, time: Millis): TrackedFailure {
    const key = keyOf({ code, failing });
    let tracked = table.get(key);
    if (tracked === undefined) table.set(key, (tracked = watch(code, failing, time)));
    return tracked;
  }

  function isProvenBySync(code: string): boolean {
    return courseOf(code).endsWithSync === true;
  }

  function inContainer(container: Failing): TrackedFailure[] {
    return [...table.values()].filter(({ incident }) => containerOf(incident.failing) === container);
  }

  function provable(failing: Failing): TrackedFailure[] {
    return [...table.values()].filter(({ incident }) => incident.failing === failing && isProvenBySync(incident.code));
  }
}
