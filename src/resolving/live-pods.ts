import type { Workload } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import { createInterner } from './interner.ts';
import { isEqual, keyOf, type Pod } from './objects.ts';
import { createPodIndex } from './pod-index.ts';
import { createTombstones, type TombstoneLimits } from './tombstones.ts';
import { workloadKey } from './workload.ts';

/** How long a Pod that was restarted counts as restarting. */
const recently: Millis = 600_000;

/** The Pods that there are, and for a while those that were. `onChange`: others are found now. */
export function createLivePods(ownNode: string, limits: TombstoneLimits, onChange: () => void) {
  const index = createPodIndex(ownNode);
  const pods = new Map<string, Pod>();
  const tombstones = createTombstones<Pod, true>(limits, (pod) => {
    index.remove(pod);
    onChange();
  });

  return {
    index,
    get sizes(): { pods: number; tombstones: number } {
      return { pods: pods.size, tombstones: tombstones.size };
    },
    set(pod: Pod, now: Millis): void {
      const key = keyOf(pod.namespace, pod.name);
      const before = pods.get(key);
      const after = seen(pod, before, now);
      const { resourceVersion, running, problem, restarted } = after;
      const status = { resourceVersion, running, problem, restarted } satisfies Partial<Pod>;
      // Most updates change nothing that resolving looks at.
      if (before !== undefined && isEqual({ ...before, ...status }, after)) {
        Object.assign(before, status);
        return;
      }
      if (before !== undefined) leave(before, after, now);
      pods.set(key, after);
      index.add(after);
      onChange();
    },
    remove(namespace: string, name: string, now: Millis): void {
      const key = keyOf(namespace, name);
      const before = pods.get(key);
      if (before === undefined) return;
      pods.delete(key);
      leave(before, undefined, now);
      onChange();
    },
    here(now: Millis): Pod[] {
      const here = [...pods.values()].filter((pod) => pod.node === ownNode);
      return here.map((pod) =>
        (pod.restarted ?? -Infinity) > now - recently ? Object.assign({}, pod, { problem: 'restarting' }) : pod,
      );
    },
    sweep: tombstones.sweep,
  };

  /** A Pod as it was ends here: it stays known by the addresses and the interface that it had. */
  function leave(before: Pod, after: Pod | undefined, now: Millis): void {
    index.remove(before);
    const isSame = after?.uid === before.uid;
    // By what it kept it is found as it is now: it has not ended there.
    const lost = isSame ? before.addresses.filter((address) => !after?.addresses.includes(address)) : undefined;
    if (lost?.length === 0) return;
    if (before.hostNetwork || (before.addresses.length === 0 && before.node !== ownNode)) return;
    const past = { ...before, until: Math.min(before.until, now, isSame ? (after?.until ?? Infinity) : Infinity) };
    index.add(past, lost);
    tombstones.put(past, true, now);
  }
}

/** A Pod as it is now, by what was known of it. */
function seen(pod: Pod, before: Pod | undefined, now: Millis): Pod {
  const same = before?.uid === pod.uid ? before : undefined;
  return {
    ...pod,
    namespace: intern(pod.namespace, pod.namespace),
    node: pod.node && intern(pod.node, pod.node),
    workload: pod.workload && internWorkload(workloadKey(pod.workload), pod.workload),
    labels: pod.labels && intern(pod.labels, pod.labels),
    ports: pod.ports && intern(pod.ports, pod.ports),
    // What is seen now cannot have begun later: the clock of its node is ahead of ours.
    from: same?.from ?? Math.min(pod.from, now),
    // Evicted, or its node is gone: no container has an end, but the Pod was seen to run.
    until: same !== undefined && pod.until <= pod.from ? Math.min(same.until, now) : pod.until,
  };
}

const intern = createInterner<string>();
const internWorkload = createInterner<Workload>();
