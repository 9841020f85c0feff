/** Matches the peers in Cilium's rules: Pods (by the identity that Cilium derives from labels), entities, and external addresses. */
import type { NamedObject } from '../../../base/model/readers.ts';
import { allOf, both, type MatchResult, type PolicyPod, Unknown } from '../model.ts';
import { type Clause, clauseOf } from '../policy.ts';
import type { ClauseWords } from '../words.ts';
import { BlockPeer, isEndpoint, peerText, outsideMatch, whose } from '../clauses/peers.ts';
import { endName, type Probe } from '../probe.ts';
import {
  aboutPod,
  differences,
  type LabelSet,
  namespaceNameLabel,
  podLabels,
  type Requirement,
  selectorText,
  selects,
} from '../clauses/labels.ts';

/** Matches Pods that are not on the host network (`fromEndpoints`, `toEndpoints`). */
export class CiliumEndpoints implements Clause {
  readonly #selector: CiliumSelector;
  readonly #field: string;

  constructor(selector: CiliumSelector, field: string) {
    this.#selector = selector;
    this.#field = field;
  }

  matches(probe: Probe): MatchResult {
    const pod = probe.peerPod;
    return !pod || pod instanceof Unknown ? pod : this.#selector.matches(identityOf(pod, probe));
  }

  wants(): string {
    return `${this.#field} ${this.#selector.text()}`;
  }

  has(probe: Probe): string {
    const pod = probe.peerPod;
    if (!pod || pod instanceof Unknown) return `is ${endName(probe.peer)}, not an endpoint`;
    return this.#selector.differences(identityOf(pod, probe));
  }

  words(probe: Probe): ClauseWords {
    return { allows: `endpoints ${this.#selector.text()}`, is: this.has(probe) };
  }

  about({ peerPod }: Probe): readonly NamedObject[] {
    if (!peerPod || peerPod instanceof Unknown) return [];
    const { namespace } = peerPod;
    return [...aboutPod(peerPod), ...(this.#selector.isOfAccount() ? [{ kind: 'ServiceAccount', namespace }] : [])];
  }
}

function identityOf(pod: PolicyPod, { namespaceLabelsOf }: Probe): CiliumIdentity {
  return { pod: podLabels(pod), namespace: namespaceLabelsOf(pod.namespace), account: pod.serviceAccount };
}

const entities = {
  all: () => true,
  world: worldMatch,
  'world-ipv4': (probe) => worldMatch(probe, 4),
  'world-ipv6': (probe) => worldMatch(probe, 6),
  cluster: ({ peer }) => (peer.kind === 'unknown' ? whose(peer) : peer.kind !== 'external'),
  'cluster-mesh': ({ peer }) =>
    peer.kind === 'pod' ||
    peer.kind === 'node' ||
    new Unknown(`whether ${endName(peer)} is of another cluster of the mesh`),
  host: (probe) => nodeMatch(probe, true),
  'remote-node': (probe) => nodeMatch(probe, false),
  'kube-apiserver': ({ peer }) => !isEndpoint(peer) && new Unknown(`whether ${endName(peer)} is of the API server`),
  ingress: ({ peer }) =>
    peer.kind !== 'pod' && peer.kind !== 'node' && new Unknown(`whether ${endName(peer)} is Cilium's ingress`),
  unmanaged: ({ peer }) => peer.kind === 'pod' && new Unknown(`whether Cilium manages ${endName(peer)}`),
  init: () => false,
  health: ({ peer }) => peer.kind === 'unknown' && whose(peer),
  none: () => false,
} as const satisfies Record<string, (probe: Probe) => MatchResult>;

export type Entity = keyof typeof entities;

export function isEntity(name: unknown): name is Entity {
  return typeof name === 'string' && Object.hasOwn(entities, name);
}

export function entityPeer(entity: Entity): Clause {
  return clauseOf(`entity ${entity}`, entities[entity], peerText);
}

function worldMatch({ peer, family }: Probe, only?: 4 | 6): MatchResult {
  if (peer.kind === 'unknown') return whose(peer);
  return peer.kind === 'external' && (only === undefined || family === only);
}

function nodeMatch({ peer, pod }: Probe, own: boolean): MatchResult {
  if (peer.kind === 'unknown') return whose(peer);
  if (peer.kind === 'external' || (peer.kind === 'pod' && !peer.pod.hostNetwork)) return false;
  const node = peer.kind === 'node' ? peer.node.name : peer.pod.node;
  if (node === undefined || pod.node === undefined) return new Unknown(`which Node ${endName(peer)} is of`);
  return (node === pod.node) === own;
}

export class CiliumNetworks extends BlockPeer {
  override matches(probe: Probe): MatchResult {
    return outsideMatch(super.matches(probe), probe);
  }

  override has(probe: Probe): string {
    return isEndpoint(probe.peer) ? `is ${endName(probe.peer)}, which no CIDR matches` : super.has(probe);
  }

  override note(): string {
    return '';
  }
}

/**
 * Matches external addresses that a name had when a Pod looked the name up (`toFQDNs`). In a pattern, `*` matches any part of one label, a
 * lone `*` every name, and a leading `**.` one or more labels (pkg/fqdn/matchpattern).
 */
export function domainNames(name: string): Clause {
  return clauseOf(
    `FQDN ${name}`,
    ({ peer }) => {
      if (peer.kind === 'pod' || peer.kind === 'node') return false;
      const { hostName } = peer.kind === 'external' ? peer : {};
      if (hostName !== undefined && matchesPattern(name, hostName)) return true;
      // An address that has another name may also have this name.
      return new Unknown(`whether ${name} had the address ${endName(peer)}`);
    },
    (probe) =>
      probe.peer.kind === 'external' && probe.peer.hostName !== undefined
        ? `is ${probe.peer.hostName}`
        : peerText(probe),
  );
}

function matchesPattern(pattern: string, hostName: string): boolean {
  if (pattern === '*') return true;
  const wanted = labelsOf(pattern);
  const given = labelsOf(hostName);
  if (wanted[0] === '**') {
    wanted.shift();
    given.splice(0, Math.max(1, given.length - wanted.length));
  }
  return wanted.length === given.length && wanted.every((glob, index) => matchesLabel(glob, given[index] ?? ''));
}

function labelsOf(name: string): string[] {
  return name.toLowerCase().replace(/\.$/, '').split('.');
}

function matchesLabel(glob: string, label: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return glob === label;
  if (!label.startsWith(first) || label.length < first.length + last.length || !label.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = label.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= label.length - last.length;
}

/** Makes the result for a matching port unknown, because a proxy decides by the content of the request. */
export function requestPort(port: Clause, request: string): Clause {
  return clauseOf(
    `${port.wants()}, by ${request}`,
    (probe) => both(port.matches(probe), () => new Unknown(request)),
    (probe) => port.has(probe),
  );
}

export interface CiliumIdentity {
  readonly pod: LabelSet;
  readonly namespace: LabelSet;
  readonly account: string | undefined;
}

const namespaceLabel = 'io.kubernetes.pod.namespace';
const namespacePrefix = 'io.cilium.k8s.namespace.labels.';
const accountLabel = 'io.cilium.k8s.policy.serviceaccount';
const clusterLabel = 'io.cilium.k8s.policy.cluster';

/** Labels that Cilium ignores by its default label filters. */
const filtered =
  /^(?:io\.kubernetes|kubernetes\.io|.*beta\.kubernetes\.io|k8s\.io|pod-template-generation|pod-template-hash|controller-revision-hash|annotation\.|controller-uid|etcd_node|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index|batch\.kubernetes\.io\/(?:job-completion-index|controller-uid))/;

/** Keys may have a source as prefix: `k8s:app`, `any:app`. */
export class CiliumSelector {
  readonly #parts: readonly Requirement[];

  /** Confines the selector to `namespace`, unless it has requirements on Namespaces itself. */
  constructor(parts: readonly Requirement[], namespace?: string) {
    const own = parts.map((each) => ({ ...each, key: each.key.replace(/^(?:k8s|any):/, '') }));
    const isConfined = own.some(({ key }) => key === namespaceLabel || key.startsWith(namespacePrefix));
    this.#parts =
      namespace === undefined || isConfined
        ? own
        : [{ key: namespaceLabel, operator: 'In', values: [namespace] }, ...own];
  }

  matches(identity: CiliumIdentity): MatchResult {
    return allOf(this.#parts, (each) => holds(each, identity));
  }

  text(): string {
    return selectorText(this.#parts);
  }

  isOfAccount(): boolean {
    return this.#parts.some(({ key }) => key === accountLabel);
  }

  differences(identity: CiliumIdentity): string {
    const failing = this.#parts.filter((each) => holds(each, identity) === false);
    return failing
      .map((each) => {
        const { set, requirement } = seenBy(each, identity);
        return each.key === namespaceLabel ? `is in ${set.owner}` : differences([requirement], set);
      })
      .join(', ');
  }
}

function holds(requirement: Requirement, identity: CiliumIdentity): MatchResult {
  const { key } = requirement;
  if (key === clusterLabel) return new Unknown('the name of the cluster');
  if (filtered.test(key) && key !== namespaceLabel && Object.hasOwn(identity.pod.labels, key))
    return new Unknown(`whether Cilium takes the label ${key} (its label filters)`);
  const { set, requirement: asked } = seenBy(requirement, identity);
  return selects([asked], set);
}

/** Returns the labels that a requirement compares, and the requirement with the key that it has there. */
function seenBy(
  requirement: Requirement,
  { pod, namespace, account }: CiliumIdentity,
): { set: LabelSet; requirement: Requirement } {
  const { key } = requirement;
  if (key === namespaceLabel) return { set: namespace, requirement: { ...requirement, key: namespaceNameLabel } };
  if (key.startsWith(namespacePrefix))
    return { set: namespace, requirement: { ...requirement, key: key.slice(namespacePrefix.length) } };
  if (key !== accountLabel) return { set: pod, requirement };
  const labels = account === undefined ? {} : { [accountLabel]: account };
  return { set: { labels, complete: account !== undefined, owner: pod.owner }, requirement };
}
