/** The memory of an object in lists and indexes: the object itself, its keys and its entries. */
import { type Bytes, weightOf } from '../../base/platform/weight.ts';
import type { EndpointSlice, Node, Pod, Service } from './objects.ts';

/** An entry of a map with its key, `namespace/name`. */
const entry: Bytes = 120;

/** An address leads to its owners. */
const address: Bytes = 130;

/** `isOwn`: interfaces lead to Pods of this node, and their records are saved. */
export function weightOfPod(pod: Pod, isOwn: boolean): Bytes {
  return (isOwn ? 2 : 1) * weightOf(pod) + (isOwn ? 5 : 2) * entry + address * pod.addresses.length;
}

export function weightOfNode(node: Node): Bytes {
  return (
    weightOf(node) +
    entry * (1 + 2 * (node.hostNames.length + 1)) +
    address * (node.addresses.length + (node.annotated?.length ?? 0))
  );
}

export function weightOfService(service: Service): Bytes {
  return weightOf(service) + entry + address * service.addresses.length;
}

export function weightOfSlice(slice: EndpointSlice): Bytes {
  return weightOf(slice) + entry;
}
