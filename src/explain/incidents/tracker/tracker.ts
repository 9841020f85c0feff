import * as z from 'zod/mini';
import type { ObjectRef } from '../../../base/model/endpoint.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Failing, FailureSign, Sign, SyncSign } from '../../../base/model/program-record.ts';
import { causeOf, isCause } from '../catalogue/catalogue.ts';
import { restarting } from '../catalogue/starting.ts';
import { type Incident, type IncidentChange, incidentKey, type TrackedFailure, trackedShape } from '../incident.ts';
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
} from './attempts.ts';
import { createLifecycle, increase, type IncidentCounts, type Lifecycle } from './lifecycle.ts';
import { containerOfProgram, createSyncs, type Restart, restartReason, type Syncs, syncShape } from './programs.ts';

const numbers = z.record(z.string(), z.number());

const stateShape = z.object({
  incidents: z.array(trackedShape),
  syncs: z.record(z.string(), syncShape),
  counts: z.object({ failures: numbers, opened: numbers, closed: numbers, flaps: numbers }),
});

export type TrackerState = z.infer<typeof stateShape>;

/** Tracks the incidents of one node, one for each cause and program. Invalid state is ignored. */
export class Tracker {
  readonly counts: Readonly<IncidentCounts>;
  /** Its size is bounded by the numbers of causes and programs. */
  readonly #table: Map<string, TrackedFailure>;
  readonly #syncs: Syncs;
  readonly #lifecycle: Lifecycle;
  readonly #changes: IncidentChange[] = [];
  #revision = 0;

  constructor(restored?: TrackerState) {
    const { incidents, syncs, counts } = readState(restored);
    this.counts = counts;
    this.#table = new Map(incidents.map((tracked) => [incidentKey(tracked.incident), tracked]));
    this.#syncs = createSyncs(syncs);
    this.#lifecycle = createLifecycle(this.#syncs, counts, this.#changes);
  }

  get incidents(): readonly Incident[] {
    return [...this.#table.values()].map(({ incident }) => incident);
  }

  /** Failed attempts that made no incident so far, by code. The latest ones still may. */
  get unrepeated(): Readonly<Record<string, number>> {
    const found = { ...this.counts.flaps };
    for (const { incident, attempts } of this.#table.values())
      if (incident.phase === 'suspected') increase(found, incident.code, attempts.length);
    return found;
  }

  get nextTick(): Millis {
    return Math.min(Infinity, ...[...this.#table.values()].map(this.#lifecycle.dueOf));
  }

  /** Changes with every change of `state`. */
  get revision(): number {
    return this.#revision;
  }

  state(): TrackerState {
    return structuredClone({ incidents: [...this.#table.values()], syncs: this.#syncs.state(), counts: this.counts });
  }

  take(sign: Sign, time: Millis, failingPod: ObjectRef | undefined): IncidentChange[] {
    const family = sign.family === 'IPv4' || sign.family === 'IPv6' ? sign.family : '';
    // A sync that succeeds on a healthy node changes nothing, and most lines are of that kind.
    let isChanged = true;
    if (sign.kind === 'failure') this.#takeFailure({ ...sign, family }, time, failingPod);
    else if (sign.kind === 'sync-failed') this.#takeSyncFailed({ ...sign, family }, time);
    else isChanged = this.#takeSyncComplete({ ...sign, family }, time) || this.#table.size > 0;
    if (isChanged) this.#revision++;
    return this.#changes.splice(0);
  }

  restarted(restart: Restart, pod: ObjectRef | undefined, time: Millis): IncidentChange[] {
    const container = containerOfProgram(restart.failing);
    this.#revision++;
    this.#takeRestart(container, restart.lastWords ?? '', pod, time);
    this.#syncs.restarted(container);
    for (const tracked of this.#inContainer(container)) {
      tracked.inThisLife = false;
      tracked.unfinished = false;
      // No further line will say how the attempt ended, so it counts as failed.
      this.#lifecycle.confirm(tracked);
    }
    return this.#changes.splice(0);
  }

  /** Opens a suspected incident because of evidence from elsewhere. */
  confirm(incident: Incident): IncidentChange[] {
    const tracked = this.#table.get(incidentKey(incident));
    if (tracked?.incident.phase !== 'suspected') return [];
    this.#revision++;
    tracked.doubtful = true;
    this.#lifecycle.confirm(tracked);
    return this.#changes.splice(0);
  }

  endOfLog(): IncidentChange[] {
    for (const tracked of this.#table.values()) {
      if (!tracked.doubtful) continue;
      this.#revision++;
      this.#lifecycle.confirm(tracked);
    }
    return this.#changes.splice(0);
  }

  /** Notes that Events now count all failures of the incident. */
  acknowledge(incident: Incident): void {
    const tracked = this.#table.get(incidentKey(incident));
    if (tracked === undefined) return;
    this.#revision++;
    tracked.incident.unpublished = 0;
    tracked.incident.endUnpublished = false;
  }

  /**
   * Opens, ends or forgets incidents that are due: all, or those of `failing` and of other programs in its container. Those in `kept` are
   * not forgotten. Publish the changes before the next call, which may forget their incidents. Without changes, nothing more is due.
   */
  settle(now: Millis, kept: ReadonlySet<string>, failing?: Failing): IncidentChange[] {
    const all = failing === undefined ? [...this.#table.values()] : this.#inContainer(containerOfProgram(failing));
    for (const tracked of all) {
      const key = incidentKey(tracked.incident);
      const outcome = this.#lifecycle.settle(tracked, now, kept.has(key));
      if (outcome !== 'same') this.#revision++;
      if (outcome === 'forgotten') this.#table.delete(key);
    }
    return this.#changes.splice(0);
  }

  #takeFailure(sign: FailureSign, time: Millis, failingPod: ObjectRef | undefined): void {
    const tracked = this.#trackedOf(sign.code, sign.failing, time);
    this.#syncs.noteReason(sign.failing, sign.family, time);
    describe(tracked, sign, failingPod);
    tracked.unfinished = true;
    tracked.inThisLife = true;
    const isDeletion = sign.subject !== undefined && causeOf(sign.code).deletedByOthers === true;
    this.#lifecycle.fail(tracked, time, isDeletion ? noteDeletion : noteAttempt);
    // kube-proxy notices a missing chain only in a sync that fails, so this needs no confirmation.
    if (isDeletion) this.#lifecycle.confirm(tracked);
  }

  #takeSyncFailed({ failing, family, retry }: SyncSign, time: Millis): void {
    const isExplained = this.#syncs.failed(failing, family, time, retry);
    const all = this.#endingWithSync(failing);
    for (const tracked of all) if (noteEnd(tracked, family)) this.#lifecycle.confirm(tracked);
    if (isExplained) return;
    // The reason is unknown, perhaps because its line was lost. Such a line opens and ends nothing.
    const [latest, ...others] = all
      .filter(({ incident }) => incident.phase === 'open')
      .toSorted((a, b) => b.incident.last - a.incident.last);
    for (const { incident, healthy } of others)
      if (healthy === undefined) incident.last = Math.max(incident.last, time);
    if (latest === undefined) return;
    noteFamily(latest, family);
    this.#lifecycle.fail(latest, time, noteAttempt);
  }

  #takeSyncComplete({ failing, family }: SyncSign, time: Millis): boolean {
    if (this.#syncs.completed(failing, family)) return true;
    for (const tracked of this.#endingWithSync(failing))
      if (noteSuccess(tracked, family, time, this.#syncs.reportsFailures(failing)))
        this.#lifecycle.succeed(tracked, time);
    return false;
  }

  /** Counts a restart for a known reason in that reason's incident, and others as incidents of their own. */
  #takeRestart(container: Failing, lastWords: string, pod: ObjectRef | undefined, time: Millis): void {
    const reason = restartReason(this.#inContainer(container));
    const tracked = reason ?? this.#trackedOf(restarting.code, container, time);
    const { incident } = tracked;
    incident.restarts++;
    if (pod !== undefined) incident.failingPod = pod;
    if (reason === undefined && incident.phase !== 'open') incident.quote = shortened(lastWords);
    this.#lifecycle.fail(tracked, time, reason === undefined ? noteRestart : noteConsequence);
  }

  #trackedOf(code: string, failing: Failing, time: Millis): TrackedFailure {
    const key = incidentKey({ code, failing });
    let tracked = this.#table.get(key);
    if (tracked === undefined) this.#table.set(key, (tracked = newFailure(code, failing, time)));
    return tracked;
  }

  #inContainer(container: Failing): TrackedFailure[] {
    return [...this.#table.values()].filter(({ incident }) => containerOfProgram(incident.failing) === container);
  }

  #endingWithSync(failing: Failing): TrackedFailure[] {
    return [...this.#table.values()].filter(
      ({ incident }) => incident.failing === failing && causeOf(incident.code).endsWithSync === true,
    );
  }
}

/** Incidents whose causes only newer releases know are left out. */
function readState(kept: unknown): TrackerState {
  const { data } = stateShape.safeParse(kept);
  if (data === undefined)
    return { incidents: [], syncs: {}, counts: { failures: {}, opened: {}, closed: {}, flaps: {} } };
  return { ...data, incidents: data.incidents.filter(({ incident }) => isCause(incident.code)) };
}
