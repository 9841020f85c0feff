import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing, FailureSign, Sign, SyncSign } from '../../model/program-record.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { restarting } from '../catalogue/starting.ts';
import { type Incident, type IncidentChange, keyOf } from '../incident.ts';
import { createLifecycle, increase, type Lifecycle } from './lifecycle.ts';
import { type Restart, restartReason } from './restarts.ts';
import { containerOf } from './rules.ts';
import { type IncidentCounts, readTrackerState, type TrackerState } from './state.ts';
import { createSyncs, type Syncs } from './syncs.ts';
import {
  describe,
  newFailure,
  noteAttempt,
  noteConsequence,
  noteDeletion,
  noteEnd,
  noteFamily,
  noteRestart,
  noteSuccess,
  shortened,
  type TrackedFailure,
} from './tracked.ts';

/** What is wrong with one node: one incident for each cause and program that fails, however many lines log it. */
export interface Tracker {
  take: (sign: Sign, time: Millis, failingPod: ObjectRef | undefined) => void;
  /** A container of a program was restarted; `pod` is its Pod. */
  restarted: (restart: Restart, pod: ObjectRef | undefined, time: Millis) => void;
  /** Opens what is suspected, though it was seen only once, where other evidence confirms it. */
  confirm: (isConfirmed: (incident: Incident) => boolean) => void;
  /** Opens repeats that still wait for the line that says how their attempt ended: none comes any more. */
  endOfLog: () => void;
  /** All that is unpublished of an incident is counted in Events now. */
  acknowledge: (incident: Incident) => void;
  /** Ends what silence has ended, forgets what is long over. */
  tick: (now: Millis) => void;
  /** When `tick` has something to do at the earliest; Infinity. */
  readonly nextTick: Millis;
  /** Suspected, open and over ones. */
  readonly incidents: readonly Incident[];
  readonly counts: Readonly<IncidentCounts>;
  /** Attempts that failed and made no incident, by code; those of the last minutes may still do. */
  readonly unrepeated: Readonly<Record<string, number>>;
  /** Another number after every change of what `state` gives. */
  readonly revision: number;
  state: () => TrackerState;
}

export interface TrackerOptions {
  /** The `state` of an earlier tracker; what is none is taken for nothing. */
  restored?: TrackerState | undefined;
  /** Called at once. What is published of the change is acknowledged, then or later. */
  onChange: (change: IncidentChange) => void;
  /** Whether an incident that is published is still not to be forgotten. */
  isNeeded?: ((incident: Incident) => boolean) | undefined;
}

/** What the functions below work on. `table` has no more than there are causes and programs: a node with 10,000 errors a minute has a handful. */
interface Parts {
  table: Map<string, TrackedFailure>;
  syncs: Syncs;
  lifecycle: Lifecycle;
}

export function createTracker({ restored, onChange, isNeeded = () => false }: TrackerOptions): Tracker {
  const { incidents, syncs: attempts, counts } = readTrackerState(restored);
  const table = new Map(incidents.map((tracked) => [keyOf(tracked.incident), tracked]));
  const syncs = createSyncs(attempts);
  const lifecycle = createLifecycle({ syncs, counts, onChange, isNeeded });
  const parts: Parts = { table, syncs, lifecycle };
  let revision = 0;

  return {
    counts,
    get incidents() {
      return [...table.values()].map(({ incident }) => incident);
    },
    get unrepeated() {
      return unrepeatedOf(counts, table);
    },
    get nextTick() {
      return Math.min(Infinity, ...[...table.values()].map(lifecycle.dueOf));
    },
    get revision() {
      return revision;
    },
    state: () => structuredClone({ incidents: [...table.values()], syncs: syncs.state(), counts }),
    take(sign, time, failingPod) {
      settle(inContainer(table, containerOf(sign.failing)), time);
      if (takeSign(parts, sign, time, failingPod)) revision++;
    },
    restarted(restart, pod, time) {
      const container = containerOf(restart.failing);
      settle(inContainer(table, container), time);
      revision++;
      takeRestart(parts, restart, pod, time);
      syncs.restarted(container);
      for (const tracked of inContainer(table, container)) {
        tracked.inThisLife = false;
        tracked.unfinished = false;
        // It died of it, or with it: no line will say any more how that attempt ended.
        lifecycle.confirm(tracked);
      }
    },
    confirm(isConfirmed) {
      for (const tracked of table.values()) {
        if (tracked.incident.phase !== 'suspected' || !isConfirmed(tracked.incident)) continue;
        revision++;
        tracked.doubtful = true;
        lifecycle.confirm(tracked);
      }
    },
    endOfLog() {
      for (const tracked of table.values()) {
        if (!tracked.doubtful) continue;
        revision++;
        lifecycle.confirm(tracked);
      }
    },
    acknowledge(incident) {
      const tracked = table.get(keyOf(incident));
      if (tracked === undefined) return;
      revision++;
      tracked.incident.unpublished = 0;
      tracked.incident.endUnpublished = false;
    },
    tick: (now) => settle([...table.values()], now),
  };

  /** Does what was due, also before each line of the same container: how often `tick` is called makes no difference. */
  function settle(all: readonly TrackedFailure[], now: Millis): void {
    for (const tracked of all) {
      const outcome = lifecycle.settle(tracked, now);
      if (outcome !== 'same') revision++;
      if (outcome === 'forgotten') table.delete(keyOf(tracked.incident));
    }
  }
}

/** Gives whether anything has changed: most lines are of syncs that went well on a node where all is well. */
function takeSign(parts: Parts, sign: Sign, time: Millis, failingPod: ObjectRef | undefined): boolean {
  const family = sign.family === 'IPv4' || sign.family === 'IPv6' ? sign.family : '';
  if (sign.kind === 'failure') takeFailure(parts, { ...sign, family }, time, failingPod);
  else if (sign.kind === 'sync-failed') takeSyncFailed(parts, { ...sign, family }, time);
  else return takeSyncComplete(parts, { ...sign, family }, time) || parts.table.size > 0;
  return true;
}

function takeFailure(
  { table, syncs, lifecycle }: Parts,
  sign: FailureSign,
  time: Millis,
  failingPod: ObjectRef | undefined,
): void {
  const tracked = trackedOf(table, sign.code, sign.failing, time);
  syncs.noteReason(sign.failing, sign.family, time);
  describe(tracked, sign, failingPod);
  tracked.unfinished = true;
  tracked.inThisLife = true;
  const isDeletion = sign.subject !== undefined && causeOf(sign.code).deletedByOthers === true;
  lifecycle.fail(tracked, time, isDeletion ? noteDeletion : noteAttempt);
  // kube-proxy misses a chain only in a sync that has failed: no line has to confirm that.
  if (isDeletion) lifecycle.confirm(tracked);
}

function takeSyncFailed({ table, syncs, lifecycle }: Parts, { failing, family, retry }: SyncSign, time: Millis): void {
  const isExplained = syncs.failed(failing, family, time, retry);
  const all = endingWithSync(table, failing);
  for (const tracked of all) if (noteEnd(tracked, family)) lifecycle.confirm(tracked);
  if (isExplained) return;
  // Why it failed is not known: perhaps the line was lost. So it opens nothing, but nothing is over either.
  const [latest, ...others] = all
    .filter(({ incident }) => incident.phase === 'open')
    .toSorted((a, b) => b.incident.last - a.incident.last);
  for (const { incident, healthy } of others) if (healthy === undefined) incident.last = Math.max(incident.last, time);
  if (latest === undefined) return;
  noteFamily(latest, family);
  lifecycle.fail(latest, time, noteAttempt);
}

/** Gives whether the attempt that is complete had failed. */
function takeSyncComplete({ table, syncs, lifecycle }: Parts, { failing, family }: SyncSign, time: Millis): boolean {
  if (syncs.completed(failing, family)) return true;
  for (const tracked of endingWithSync(table, failing))
    if (noteSuccess(tracked, family, time, syncs.reportsFailures(failing))) lifecycle.succeed(tracked, time);
  return false;
}

/** A program that cannot run for a reason that is known is restarted in vain: that is no incident of its own. */
function takeRestart(
  { table, lifecycle }: Parts,
  { failing, lastWords = '' }: Restart,
  pod: ObjectRef | undefined,
  time: Millis,
): void {
  const container = containerOf(failing);
  const reason = restartReason(inContainer(table, container));
  const tracked = reason ?? trackedOf(table, restarting.code, container, time);
  const { incident } = tracked;
  incident.restarts++;
  if (pod !== undefined) incident.failingPod = pod;
  if (reason === undefined && incident.phase !== 'open') incident.quote = shortened(lastWords);
  lifecycle.fail(tracked, time, reason === undefined ? noteRestart : noteConsequence);
}

function trackedOf(table: Map<string, TrackedFailure>, code: string, failing: Failing, time: Millis): TrackedFailure {
  const key = keyOf({ code, failing });
  let tracked = table.get(key);
  if (tracked === undefined) table.set(key, (tracked = newFailure(code, failing, time)));
  return tracked;
}

function inContainer(table: Parts['table'], container: Failing): TrackedFailure[] {
  return [...table.values()].filter(({ incident }) => containerOf(incident.failing) === container);
}

function endingWithSync(table: Parts['table'], failing: Failing): TrackedFailure[] {
  return [...table.values()].filter(
    ({ incident }) => incident.failing === failing && causeOf(incident.code).endsWithSync === true,
  );
}

function unrepeatedOf(counts: IncidentCounts, table: Parts['table']): Record<string, number> {
  const found = { ...counts.flaps };
  for (const { incident, attempts } of table.values())
    if (incident.phase === 'suspected') increase(found, incident.code, attempts.length);
  return found;
}
