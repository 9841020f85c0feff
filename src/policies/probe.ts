/** A connection, seen from one of its Pods. */
import { type Address, parseAddress } from './clauses/networks.ts';
import type { Direction, End, Flow, Labels, Match, Namespace, Pod } from './model.ts';

/** Labels as far as they are known. */
export interface LabelSet {
  readonly labels: Labels;
  /** False: there may be more. */
  readonly complete: boolean;
  /** `Namespace batch`, `Pod batch/worker-7`. */
  readonly owner: string;
}

export interface Probe {
  readonly direction: Direction;
  readonly flow: Flow;
  /** Whose policies are asked. */
  readonly pod: Pod;
  /** The other end. */
  readonly peer: End;
  /** Of the peer; undefined: not known. */
  readonly peerAddress: Address | undefined;
  /** The Pod reaches itself by way of a Service. */
  readonly itself: boolean;
  readonly labelsOf: (pod: Pod) => LabelSet;
  readonly namespaceLabelsOf: (name: string) => LabelSet;
}

/** The label that the API server gives each Namespace. */
export const namespaceNameLabel = 'kubernetes.io/metadata.name';

/** Labels of Namespaces by name. One that is not listed has unknown labels, but for its name. */
export function createNamespaces(namespaces: Iterable<Namespace>): (name: string) => LabelSet {
  const known = new Map<string, LabelSet>();
  for (const { name, labels } of namespaces)
    known.set(name, {
      labels: { ...labels, [namespaceNameLabel]: name },
      complete: true,
      owner: `Namespace ${name}`,
    });
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const unknown = { labels: { [namespaceNameLabel]: name }, complete: false, owner: `Namespace ${name}` };
    known.set(name, unknown);
    return unknown;
  };
}

export function podLabels({ namespace, name, labels }: Pod): LabelSet {
  return { labels: labels ?? {}, complete: labels !== undefined, owner: `Pod ${namespace}/${name}` };
}

export function createProbe(
  flow: Flow,
  direction: Direction,
  pod: Pod,
  itself: boolean,
  namespaceLabelsOf: (name: string) => LabelSet,
): Probe {
  const peer = direction === 'ingress' ? flow.source : flow.destination;
  const peerAddress = peer.address === undefined ? undefined : parseAddress(peer.address);
  return { direction, flow, pod, peer, peerAddress, itself, labelsOf: podLabels, namespaceLabelsOf };
}

/** The Pod that label selectors see at an end. One on its Node's network is seen as the Node. */
export function selectablePod(end: End): Pod | Match {
  if (end.kind === 'unknown') return `which Pod has ${end.address}, if any`;
  if (end.kind !== 'pod' || end.pod.hostNetwork) return false;
  if (end.pod.completed) return `whose ${end.address ?? 'the address'} is now: Pod ${podName(end.pod)} has completed`;
  return end.pod;
}

export function podName({ namespace, name }: Pick<Pod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** `Pod batch/worker-7`, `Node node-a`, `192.0.2.7`. */
export function endName(end: End): string {
  if (end.kind === 'pod') return `Pod ${podName(end.pod)}`;
  return end.kind === 'node' ? `Node ${end.node.name}` : end.address;
}
