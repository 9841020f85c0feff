import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import type { Json } from '../../base/platform/json.ts';
import { createKeyedChanges, type KeyedChanges } from '../../base/platform/keyed-changes.ts';
import { isEqual, namespacedName, type Pod } from './objects.ts';
import { createPodIndex, type PodIndex } from './pod-index.ts';
import { podFromRecord, type PodRecord, podRecordOf } from './pod-record.ts';

export interface EarlierPods {
  records: readonly Json[];
  /** When that run was last alive, by the wall clock. */
  alive: Json;
}

/** A kubelet runs 110 Pods by default, and 500 if it is configured to. */
const most = 1024;

/** How often an idle node saves its state, so that the next run knows how long no agent ran. */
const aliveStep: Millis = 300_000;
/** After a longer time without an agent, other Pods may have the addresses. A container that keeps crashing is away for five minutes. */
const longestAway: Millis = 3 * aliveStep;

export interface KeptPods {
  readonly earlier: PodIndex;
  readonly changes: KeyedChanges;
  alive: () => Millis;
  set(pod: Pod): void;
  remove(namespace: string, name: string): void;
  /** Replaces the Pods of an earlier run by the first complete list. */
  endEarlier(): void;
  /** Returns whether it has forgotten Pods of an earlier run. */
  sweep(): boolean;
}

/** Saves this node's Pods. `earlier` has those of an earlier run until the API server lists Pods, then for `age`, for older packets. */
export function createKeptPods(
  node: string,
  restored: EarlierPods | undefined,
  { now, wall, fromWall, toWall }: Clock,
  age: Millis = 600_000,
): KeptPods {
  const records = new Map<string, PodRecord>();
  const changes = createKeyedChanges('pod', records);
  const earlier = createPodIndex(node);
  let listed: Map<string, Pod> | undefined = new Map();
  let listedAt: Millis | undefined;
  let ofEarlier = podsOf(restored, node, { now, wall, fromWall });
  for (const pod of ofEarlier) {
    keep(namespacedName(pod.namespace, pod.name), pod);
    earlier.add(pod);
  }

  return {
    earlier,
    changes,
    alive: (): Millis => Math.floor(wall() / aliveStep) * aliveStep,
    set(pod: Pod): void {
      const key = namespacedName(pod.namespace, pod.name);
      if (pod.node !== node || pod.hostNetwork || pod.until !== Infinity) forget(key);
      else keep(key, pod);
      listed?.set(key, pod);
    },
    remove(namespace: string, name: string): void {
      const key = namespacedName(namespace, name);
      forget(key);
      listed?.delete(key);
    },
    endEarlier(): void {
      if (listed === undefined) return;
      for (const key of records.keys()) if (!listed.has(key)) forget(key);
      listedAt = now();
      ofEarlier = ofEarlier.flatMap((pod) => endOf(pod, listed?.get(namespacedName(pod.namespace, pod.name)), now()));
      listed = undefined;
    },
    sweep(): boolean {
      if (ofEarlier.length === 0 || listedAt === undefined || listedAt > now() - age) return false;
      for (const pod of ofEarlier) earlier.remove(pod);
      ofEarlier = [];
      return true;
    },
  };

  function keep(key: string, pod: Pod): void {
    const record = podRecordOf(pod, toWall);
    const before = records.get(key);
    if (isEqual(before, record) || (before === undefined && records.size >= most)) return;
    records.set(key, record);
    changes.changed(key);
  }

  function forget(key: string): void {
    if (records.delete(key)) changes.changed(key);
  }

  /** If the Pod still exists, its entry keeps only addresses that it has lost. */
  function endOf(pod: Pod, current: Pod | undefined, end: Millis): Pod[] {
    earlier.remove(pod);
    const isSame = current?.uid === pod.uid;
    const lost = isSame ? pod.addresses.filter((address) => !current.addresses.includes(address)) : undefined;
    if (lost?.length === 0) return [];
    const ended = { ...pod, until: Math.min(pod.until, end) };
    earlier.add(ended, lost);
    return [ended];
  }
}

function podsOf(
  restored: EarlierPods | undefined,
  node: string,
  { now, wall, fromWall }: Pick<Clock, 'now' | 'wall' | 'fromWall'>,
): Pod[] {
  const { records, alive } = restored ?? { records: [], alive: undefined };
  if (typeof alive !== 'number') return [];
  const latest = wall() - alive > longestAway ? fromWall(alive) : Infinity;
  return records.slice(0, most).flatMap((record) => {
    const pod = podFromRecord(record, fromWall);
    if (pod?.node !== node) return [];
    return [{ ...pod, from: Math.min(pod.from, now()), until: Math.min(pod.until, latest) }];
  });
}
