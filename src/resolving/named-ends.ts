/** Finds the ends of packets that a logger without addresses names (parsing/policy-loggers/calico-flow.ts). */
import { type Endpoint, objectKey } from '../model/endpoint.ts';
import { addressOnly, nodeEndpoint, podEndpoint } from './endpoints.ts';
import type { Node, Pod } from './objects.ts';
import { type Moment, type PodIndex, slack } from './pod-index.ts';

export interface NamedLists {
  pods: PodIndex;
  earlier: PodIndex | undefined;
  nodes: (name: string) => Node | undefined;
}

/** A node rarely has as many Pods of one workload. Each gets an Event. */
const mostCandidates = 8;

/**
 * The owner of `shop/netcheck` or `Node node-a`. `shop/web-*` are all Pods of a workload: those of `node` ('': of any), if they are known to be of
 * one, and else no Pod, because not all Pods of other nodes are in the lists.
 */
export function ownerOfName(name: string, at: Moment, node: string | undefined, lists: NamedLists): Endpoint {
  const host = name.startsWith('Node ') ? lists.nodes(name.slice('Node '.length)) : undefined;
  if (host !== undefined) return nodeEndpoint(host, host.addresses[0] ?? name);
  if (name.includes(' ')) return namedEndpoint(name, 'external', 'the log has no address');
  const isGroup = name.endsWith('*');
  if (isGroup && node === undefined) return namedEndpoint(name, 'unknown', 'Pods that share this name');
  const index = lists.pods.byName(name).length > 0 ? lists.pods : lists.earlier;
  const isThere = (pod: Pod): boolean => !isGroup || node === '' || pod.node === node;
  const all = ownersAt(index?.byName(name).filter(isThere) ?? [], at);
  // Only a Pod that was made by hand may have a name that looks like theirs.
  const replicas = isGroup ? all.filter(({ workload }) => workload !== undefined) : [];
  const owners = replicas.length > 0 ? replicas : all;
  const candidates = owners.map((pod) => podEndpoint(pod, pod.addresses[0] ?? name, 'pod-name'));
  const [only] = candidates;
  if (only === undefined) return namedEndpoint(name, 'unknown', 'no Pod of that name is known');
  if (candidates.length === 1) return only;
  const note = `one of ${candidates.length} Pods${node === '' ? '' : ` of ${node}`}`;
  const end = namedEndpoint(name, 'unknown', note);
  const workload = candidates.every(({ identity }) => identity === only.identity) ? only.workload : undefined;
  return { ...end, workload, candidates: candidates.slice(0, mostCandidates) };
}

function namedEndpoint(name: string, kind: 'external' | 'unknown', note: string): Endpoint {
  return { ...addressOnly(name), kind, evidence: 'none', note };
}

/** The Pods, each once, that were there after a time, which is that of the begin of an interval. */
function ownersAt(pods: readonly Pod[], { time }: Moment): Pod[] {
  const there = pods.filter(({ until }) => until === Infinity || until > time - slack);
  const once = new Map(there.map((pod) => [objectKey(pod), pod]));
  return [...once.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
