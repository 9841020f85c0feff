import type { Millis } from '../model/log-line.ts';
import { interfaceNames } from './interface-name.ts';
import type { Pod } from './objects.ts';

/** Time stamps in the API are cut to seconds, and the log's clock may be off a little. */
export const slack: Millis = 2000;

/** Pods, past ones too, by what a packet shows of them. Several may have had the same address one after the other. */
export type PodIndex = ReturnType<typeof createPodIndex>;

/** `ownNode`: only Pods there are found by an interface; undefined: Pods of any node, for saved logs. */
export function createPodIndex(ownNode: string | undefined) {
  const all = new Set<Pod>();
  const lostBy = new Map<Pod, readonly string[]>();
  const addresses = new Map<string, Pod[]>();
  const interfaces = new Map<string, Pod[]>();
  /** No change of ownership is later than that. */
  let latestChange: Millis = -Infinity;
  /** All changes in order, made when first asked for. */
  let changes: Millis[] | undefined;

  return {
    get size(): number {
      return all.size;
    },
    /** `lost`: addresses that a Pod which is still there had once; it is found by nothing else of what it was then. */
    add(pod: Pod, lost?: readonly string[]): void {
      all.add(pod);
      if (lost !== undefined) lostBy.set(pod, lost);
      changes = undefined;
      latestChange = Math.max(latestChange, pod.from, pod.until === Infinity ? -Infinity : pod.until);
      for (const [map, keys] of keysOf(pod)) {
        for (const key of keys) {
          const pods = map.get(key);
          if (pods) pods.push(pod);
          else map.set(key, [pod]);
        }
      }
    },
    /** `pod` must be an object that was added, with its addresses unchanged. */
    remove(pod: Pod): void {
      if (!all.delete(pod)) return;
      changes = undefined;
      for (const [map, keys] of keysOf(pod)) {
        for (const key of keys) {
          const rest = map.get(key)?.filter((each) => each !== pod) ?? [];
          if (rest.length === 0) map.delete(key);
          else map.set(key, rest);
        }
      }
      lostBy.delete(pod);
    },
    byAddress: (address: string): readonly Pod[] | undefined => addresses.get(address),
    byInterface: (name: string): readonly Pod[] | undefined => interfaces.get(name),
    /** The span of time around `time` in which no Pod takes or leaves an address. */
    epoch(time: Millis): { from: Millis; until: Millis } {
      // What a node's agent asks nearly always: everybody's time began before the packet's.
      if (time >= latestChange) return { from: latestChange, until: Infinity };
      changes ??= [...new Set([...all].flatMap(({ from, until }) => [from - slack, from, until]))].toSorted(
        (a, b) => a - b,
      );
      const next = changes.findIndex((change) => change > time);
      if (next < 0) return { from: changes.at(-1) ?? -Infinity, until: Infinity };
      return { from: changes[next - 1] ?? -Infinity, until: changes[next] ?? Infinity };
    },
  };

  /** A hostNetwork Pod has neither a veth nor an address of its own. */
  function keysOf(pod: Pod): [Map<string, Pod[]>, readonly string[]][] {
    if (pod.hostNetwork) return [];
    const lost = lostBy.get(pod);
    if (lost !== undefined) return [[addresses, lost]];
    const isHere = ownNode === undefined || pod.node === ownNode;
    return [
      [addresses, pod.addresses],
      [interfaces, isHere ? interfaceNames(pod.namespace, pod.name) : []],
    ];
  }
}
