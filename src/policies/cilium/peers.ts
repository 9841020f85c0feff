/** What rules of Cilium want of the other end: Pods by their identity, entities, and networks outside the cluster. */
import { both } from '../match.ts';
import type { Clause } from '../clauses/clause.ts';
import { BlockPeer } from '../clauses/peers.ts';
import type { CiliumSelector, Identity } from './identity.ts';
import type { End, Match } from '../model.ts';
import { endName, type Probe, selectablePod } from '../probe.ts';

/** `fromEndpoints`, `toEndpoints`: Pods that have a network of their own. */
export class CiliumEndpoints implements Clause {
  readonly #selector: CiliumSelector;

  constructor(selector: CiliumSelector) {
    this.#selector = selector;
  }

  matches(probe: Probe): Match {
    const identity = identityOf(probe);
    return typeof identity === 'object' ? this.#selector.matches(identity) : identity;
  }

  wants(): string {
    return `endpoints ${this.#selector.text()}`;
  }

  has(probe: Probe): string {
    const identity = identityOf(probe);
    return typeof identity === 'object'
      ? this.#selector.differences(identity)
      : `is ${endName(probe.peer)}, no endpoint`;
  }
}

function identityOf(probe: Probe): Identity | Match {
  const pod = selectablePod(probe.peer);
  if (typeof pod !== 'object') return pod;
  return { pod: probe.labelsOf(pod), namespace: probe.namespaceLabelsOf(pod.namespace), account: pod.serviceAccount };
}

/** True: the end is of the entity. A text: it may be. */
const entities = {
  all: () => true,
  world: worldMatch,
  'world-ipv4': (probe) => worldMatch(probe, 4),
  'world-ipv6': (probe) => worldMatch(probe, 6),
  cluster: ({ peer }) => (peer.kind === 'unknown' ? whose(peer) : peer.kind !== 'external'),
  'cluster-mesh': ({ peer }) =>
    peer.kind === 'pod' || peer.kind === 'node' || `whether ${endName(peer)} is of another cluster of the mesh`,
  host: (probe) => nodeMatch(probe, true),
  'remote-node': (probe) => nodeMatch(probe, false),
  'kube-apiserver': ({ peer }) =>
    peer.kind === 'pod' && !peer.pod.hostNetwork ? false : `whether ${endName(peer)} is of the API server`,
  ingress: ({ peer }) =>
    peer.kind === 'pod' || peer.kind === 'node' ? false : `whether ${endName(peer)} is Cilium's ingress`,
  unmanaged: ({ peer }) => (peer.kind === 'pod' ? `whether Cilium manages ${endName(peer)}` : false),
  init: () => false,
  health: ({ peer }) => (peer.kind === 'unknown' ? whose(peer) : false),
  none: () => false,
} as const satisfies Record<string, (probe: Probe) => Match>;

export type Entity = keyof typeof entities;

export function isEntity(name: unknown): name is Entity {
  return typeof name === 'string' && Object.hasOwn(entities, name);
}

/** `fromEntities`, `toEntities`. */
export class EntityPeer implements Clause {
  readonly #entity: Entity;

  constructor(entity: Entity) {
    this.#entity = entity;
  }

  matches(probe: Probe): Match {
    return entities[this.#entity](probe);
  }

  wants(): string {
    return `entity ${this.#entity}`;
  }

  has({ peer }: Probe): string {
    return `is ${endName(peer)}`;
  }
}

function whose(peer: End): string {
  return `whose ${endName(peer)} is`;
}

function worldMatch({ peer, family }: Probe, only?: 4 | 6): Match {
  if (peer.kind === 'unknown') return whose(peer);
  return peer.kind === 'external' && (only === undefined || family === only);
}

/** The Node of the Pod whose policies are asked, or another one. Pods on the network of a Node are seen as it. */
function nodeMatch({ peer, pod }: Probe, own: boolean): Match {
  if (peer.kind === 'unknown') return whose(peer);
  if (peer.kind === 'external' || (peer.kind === 'pod' && !peer.pod.hostNetwork)) return false;
  const node = peer.kind === 'node' ? peer.node.name : peer.pod.node;
  if (node === undefined || pod.node === undefined) return `which Node ${endName(peer)} is of`;
  return (node === pod.node) === own;
}

/** Addresses outside the cluster: Pods and Nodes have identities, which no network matches. */
export class CiliumNetworks extends BlockPeer {
  override matches(probe: Probe): Match {
    const match = super.matches(probe);
    if (match === false || probe.peer.kind === 'external') return match;
    if (probe.peer.kind === 'unknown') return whose(probe.peer);
    if (probe.peer.kind === 'pod' && !probe.peer.pod.hostNetwork) return false;
    return 'whether Cilium matches Nodes by CIDR (policy-cidr-match-mode)';
  }

  override has(probe: Probe): string {
    return probe.peer.kind === 'pod' ? `is ${endName(probe.peer)}, which no CIDR matches` : super.has(probe);
  }

  override note(): string {
    return '';
  }
}

/**
 * `toFQDNs`: addresses that a name had when a Pod asked for it, outside the cluster. In a pattern `*` stands for a part of one label, alone for
 * every name, and `**.` for any labels before (pkg/fqdn/matchpattern).
 */
export class DomainNames implements Clause {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  matches({ peer }: Probe): Match {
    if (peer.kind === 'pod' || peer.kind === 'node') return false;
    const { hostName } = peer.kind === 'external' ? peer : {};
    if (hostName !== undefined && matchesPattern(this.#name, hostName)) return true;
    // An address may have had several names.
    return `whether ${this.#name} had the address ${endName(peer)}`;
  }

  wants(): string {
    return `FQDN ${this.#name}`;
  }

  has({ peer }: Probe): string {
    return peer.kind === 'external' && peer.hostName !== undefined ? `is ${peer.hostName}` : `is ${endName(peer)}`;
  }
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

/** A dot at the end changes nothing. */
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

/** A port behind which a proxy decides by the request. */
export class RequestPort implements Clause {
  readonly #port: Clause;
  readonly #request: string;

  constructor(port: Clause, request: string) {
    this.#port = port;
    this.#request = request;
  }

  matches(probe: Probe): Match {
    return both(this.#port.matches(probe), () => this.#request);
  }

  wants(): string {
    return `${this.#port.wants()}, by ${this.#request}`;
  }

  has(probe: Probe): string {
    return this.#port.has(probe);
  }
}
