import { isIPv6 } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pod } from '../resolving/objects.ts';
import type { Connection } from './connection.ts';
import { listAll } from './paged-list.ts';
import { ifUsable, onSteadyClock, slimPod } from './slim.ts';

/**
 * Finds the Pods that use an address, those on the host's network too. Rejects with a `RefusedError`.
 *
 * The API server can select by `status.podIP` only, which is the first address of a Pod. A second one (IPv6 in a dual-stack
 * cluster) is found among the Pods of the node in whose Pod range it lies, if there is such a node.
 */
export function createPodLookup(
  connection: Pick<Connection, 'request'>,
  homeOf: (address: string) => string | undefined,
  fromWall: Clock['fromWall'],
): (address: string) => Promise<Pod[]> {
  return async (address) => {
    const found = await select(`status.podIP=${address}`);
    const home = found.length === 0 && isIPv6(address) ? homeOf(address) : undefined;
    if (home === undefined) return found;
    const neighbours = await select(`spec.nodeName=${home}`);
    return neighbours.filter((pod) => !pod.hostNetwork && pod.addresses.includes(address));
  };

  async function select(fieldSelector: string): Promise<Pod[]> {
    const options = { fieldSelector, pageSize: undefined };
    const { items } = await listAll(connection, '/api/v1/pods', options, ifUsable(slimPod));
    return items.map((pod) => onSteadyClock(pod, fromWall));
  }
}
