import { type Endpoint, type Evidence, type ObjectRef, podRef } from '../model/endpoint.ts';
import { copy } from '../platform/address.ts';
import { rangeOf, scopeOf } from './scope.ts';
import { type Node, type Pod, type Service, workloadKey } from './objects.ts';

/** The fields of an address without an object. */
export function addressOnly(address: string) {
  const none = { object: undefined, workload: undefined, node: undefined, role: undefined, note: undefined };
  return { address, identity: address, range: rangeOf(address), ...none };
}

/** The last of each Pod, which nearly always has one address and one interface. */
const latest = new WeakMap<Pod, Endpoint>();

/** The same object as for the packet before, where it would be equal. */
export function podEndpoint(pod: Pod, address: string, evidence: Evidence, note?: string): Endpoint {
  const known = latest.get(pod);
  if (
    known !== undefined &&
    known.address === address &&
    known.evidence === evidence &&
    known.note === note &&
    known.object?.resourceVersion === pod.resourceVersion
  )
    return known;
  const endpoint = newPodEndpoint(pod, copy(address), evidence, note);
  latest.set(pod, endpoint);
  return endpoint;
}

function newPodEndpoint(pod: Pod, address: string, evidence: Evidence, note: string | undefined): Endpoint {
  const { namespace, name, workload, node, role, labels } = pod;
  const identity = workload ? workloadKey(workload) : `Pod/${namespace}/${name}`;
  const range = rangeOf(address);
  return { address, identity, range, object: podRef(pod), workload, node, role, labels, note, kind: 'pod', evidence };
}

export function nodeEndpoint(node: Node, address: string): Endpoint {
  const { name } = node;
  const identity = `Node/${name}`;
  const object = nodeRef(node);
  return { ...addressOnly(address), kind: 'node', evidence: 'node-address', identity, object, node: name };
}

export function serviceEndpoint(service: Service, address: string): Endpoint {
  const { namespace, name, role } = service;
  const identity = `Service/${namespace}/${name}`;
  const object = serviceRef(service);
  return { ...addressOnly(address), kind: 'service', evidence: 'service-address', identity, object, role };
}

/** An address in the Pod range of a node or of a Pod of another time, which no Pod had then. */
export function unknownEndpoint(address: string, evidence: Evidence, note: string): Endpoint {
  const { range, role } = scopeOf(address);
  return { ...addressOnly(address), kind: 'unknown', evidence, range, role, note };
}

/** An address of no object of the cluster. */
export function externalEndpoint(address: string, hostName: string | undefined): Endpoint {
  const scope = scopeOf(address);
  const { range, role } = scope;
  const note =
    hostName === undefined || scope.note === undefined ? (hostName ?? scope.note) : `${hostName}, ${scope.note}`;
  const none = undefined;
  const identity = address;
  const evidence = 'address-range';
  return { address, identity, range, object: none, workload: none, node: none, role, note, kind: 'external', evidence };
}

export function nodeRef({ name, uid, resourceVersion }: Node): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid, resourceVersion };
}

/** A uid is missing where the Service is known by name only. */
export function serviceRef(service: Pick<Service, 'namespace' | 'name'> & Partial<Service>): ObjectRef {
  const { namespace, name, uid = '', resourceVersion } = service;
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion };
}

/** A Node that is known by name only. */
export function namedNode(name: string): Node {
  return { name, uid: '', resourceVersion: undefined, addresses: [], podRanges: [], hostNames: [] };
}
