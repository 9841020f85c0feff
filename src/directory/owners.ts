import type { LiveLists } from '../resolving/live-lists.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';

/** Who has an address, or had it in the last minutes: the Pods, and the node whose own it is. */
export function ownersIn(lists: Pick<LiveLists, 'directory' | 'podsByAddress'>, address: string): Owners {
  const pods = lists.podsByAddress(address).filter(({ uid }) => uid !== '');
  // A tombstone has the addresses that its Pod had at its end, which need not have this one among them.
  const having = pods.map((pod) =>
    pod.addresses.includes(address) ? pod : Object.assign({}, pod, { addresses: [address] }),
  );
  return { pods: having, node: having.length > 0 ? undefined : lists.directory.nodeOfHost(address)?.name };
}
