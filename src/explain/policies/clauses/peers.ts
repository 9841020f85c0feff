import type { NamedObject } from '../../../base/model/readers.ts';
import { both, type End, type Labels, type MatchResult, Unknown } from '../model.ts';
import { endName, type Probe } from '../probe.ts';
import { type Clause, type ClauseList, clauseOf } from '../policy.ts';
import type { ClauseWords } from '../words.ts';
import {
  aboutPod,
  differences,
  type LabelSelector,
  onlyName,
  podLabels,
  selects,
  selectorText,
  wordsOf,
} from './labels.ts';
import { type Address, contains, type Network, type Range, textOfIPv4 } from './networks.ts';

/** `namespaces`: the name of one Namespace, or a selector of Namespaces. */
export class PodPeer implements Clause {
  readonly #namespaces: string | LabelSelector;
  readonly #pods: LabelSelector;

  constructor(namespaces: string | LabelSelector, pods: LabelSelector) {
    this.#namespaces = namespaces;
    this.#pods = pods;
  }

  matches(probe: Probe): MatchResult {
    const pod = probe.peerPod;
    if (!pod || pod instanceof Unknown) return pod;
    return both(this.#namespace(pod.namespace, probe), () => selects(this.#pods, podLabels(pod)));
  }

  #namespace(name: string, { namespaceLabelsOf }: Probe): MatchResult {
    if (typeof this.#namespaces === 'string') return name === this.#namespaces;
    return selects(this.#namespaces, namespaceLabelsOf(name));
  }

  wants(): string {
    const pods = selectorText(this.#pods);
    if (typeof this.#namespaces === 'string') return `podSelector ${pods} in Namespace ${this.#namespaces}`;
    const namespaces = `namespaceSelector ${selectorText(this.#namespaces)}`;
    return pods === '{}' ? namespaces : `podSelector ${pods}, ${namespaces}`;
  }

  about({ peerPod }: Probe): readonly NamedObject[] {
    return !peerPod || peerPod instanceof Unknown ? [] : aboutPod(peerPod);
  }

  words(probe: Probe): ClauseWords {
    return { allows: this.#allows(), is: this.#is(probe) };
  }

  #allows(): string {
    const pods = selectorText(this.#pods);
    const where =
      typeof this.#namespaces === 'string' ? this.#namespaces : (onlyName(this.#namespaces) ?? this.#namespacesText());
    return `Pods ${pods === '{}' ? '' : `${pods} `}in ${where}`;
  }

  #namespacesText(): string {
    const text = selectorText(this.#namespaces as LabelSelector);
    return text === '{}' ? 'any namespace' : `namespaces ${text}`;
  }

  #is(probe: Probe): string {
    const pod = probe.peerPod;
    if (!pod || pod instanceof Unknown)
      return `is ${endName(probe.peer)}${probe.peer.kind === 'pod' ? ", on its Node's network" : probe.peer.kind === 'node' ? '' : ', not a Pod'}`;
    const labels = wordsOf(differences(this.#pods, podLabels(pod)));
    if (this.#namespace(pod.namespace, probe) !== false) return labels === '' ? '' : `is ${labels}`;
    const place = `in ${pod.namespace}`;
    const isByName = typeof this.#namespaces === 'string' || onlyName(this.#namespaces) !== undefined;
    const which = isByName
      ? ''
      : ` (${wordsOf(differences(this.#namespaces, probe.namespaceLabelsOf(pod.namespace)))})`;
    return `is ${labels === '' ? '' : `${labels} `}${place}${which}`;
  }

  has(probe: Probe): string {
    const pod = probe.peerPod;
    if (!pod || pod instanceof Unknown)
      return `is ${endName(probe.peer)}, ${probe.peer.kind === 'pod' ? "on its Node's network" : 'not a Pod'}`;
    const parts = [differences(this.#pods, podLabels(pod))];
    if (this.#namespace(pod.namespace, probe) === false)
      parts.push(
        typeof this.#namespaces === 'string'
          ? `is in Namespace ${pod.namespace}`
          : `is in Namespace ${pod.namespace}, which ${differences(this.#namespaces, probe.namespaceLabelsOf(pod.namespace))}`,
      );
    return parts.filter((part) => part !== '').join(', ');
  }
}

/** Addresses of Pods also match, because netfilter sees no difference. */
export class NetworkPeer implements Clause {
  readonly #ranges: readonly Range[];
  readonly #text: string;

  constructor(networks: readonly Network[], text: string) {
    // The texts are not kept, to save memory: there may be ten thousand policies.
    this.#ranges = networks.map(({ range }) => range);
    this.#text = text;
  }

  matches({ peer, peerAddress }: Probe): MatchResult {
    if (peerAddress === undefined) return new Unknown(`address of ${endName(peer)}`);
    return this.contains(peerAddress);
  }

  contains(address: Address): boolean {
    return this.#ranges.some((range) => contains(range, address));
  }

  wants(): string {
    return this.#text;
  }

  has({ peer }: Probe): string {
    return `is ${peer.address ?? endName(peer)}`;
  }

  words(probe: Probe): ClauseWords {
    return { allows: this.wants().replace(/^ipBlock /, ''), is: this.has(probe) };
  }
}

export class BlockPeer extends NetworkPeer {
  readonly #except: readonly Network[];

  constructor(networks: readonly Network[], except: readonly Network[], text: string) {
    super(networks, text);
    this.#except = except;
  }

  exceptionFor(probe: Probe): string | undefined {
    const { peerAddress } = probe;
    if (this.#except.length === 0 || peerAddress === undefined || super.matches(probe) !== true) return undefined;
    return this.#except.find(({ range }) => contains(range, peerAddress))?.text;
  }

  override matches(probe: Probe): MatchResult {
    const match = this.exceptionFor(probe) === undefined && super.matches(probe);
    return probe.flow.byCilium ? outsideMatch(match, probe) : match;
  }

  override has(probe: Probe): string {
    const exception = this.exceptionFor(probe);
    if (exception === undefined && probe.flow.byCilium && isEndpoint(probe.peer))
      return `is ${endName(probe.peer)}, and in Cilium no ipBlock matches a Pod`;
    return `${super.has(probe)}${exception === undefined ? '' : `, is in except ${exception}`}`;
  }

  note({ peer }: Probe): string {
    if (peer.kind === 'external' || peer.kind === 'unknown') return '';
    return `by its address; Cilium, for one, matches no ${isEndpoint(peer) ? 'Pod' : 'Node'} with ipBlock`;
  }
}

/** Some ipBlocks of IPv4 without exceptions, which follow each other in a rule. */
export class PackedBlocks extends BlockPeer implements Clause {
  readonly #addresses: Uint32Array;
  readonly #masks: Uint8Array;

  constructor(ranges: readonly (readonly [address: number, mask: number])[]) {
    super([], [], '');
    this.#addresses = Uint32Array.from(ranges, ([address]) => address);
    this.#masks = Uint8Array.from(ranges, ([, mask]) => mask);
  }

  get packed(): ClauseList {
    return { count: this.#masks.length, at: (index) => this.#at(index) };
  }

  override contains(address: Address): boolean {
    if (typeof address !== 'number') return false;
    const [addresses, masks] = [this.#addresses, this.#masks];
    for (let index = 0; index < masks.length; index++) {
      const mask = masks[index] as number;
      if (mask === 0 || ((addresses[index] as number) ^ address) >>> (32 - mask) === 0) return true;
    }
    return false;
  }

  #at(index: number): BlockPeer {
    const [first, mask] = [this.#addresses[index] ?? 0, this.#masks[index] ?? 0];
    const text = `${textOfIPv4(first)}/${mask}`;
    return new BlockPeer([{ range: { first, mask }, text }], [], `ipBlock ${text}`);
  }
}

/** Limits a match by address to what Cilium matches: it knows Pods by identity, so they never match; for Nodes, its settings decide. */
export function outsideMatch(match: MatchResult, { peer }: Probe): MatchResult {
  if (match === false || peer.kind === 'external') return match;
  if (peer.kind === 'unknown') return whose(peer);
  if (isEndpoint(peer)) return false;
  return new Unknown('whether Cilium matches Nodes by CIDR (policy-cidr-match-mode)');
}

/** Returns whether Cilium knows the end by identity. A Pod on its Node's network has the Node's address and counts as the Node. */
export function isEndpoint(peer: End): boolean {
  return peer.kind === 'pod' && !peer.pod.hostNetwork;
}

export function whose(peer: End): Unknown {
  return new Unknown(`whose ${endName(peer)} is`);
}

export function exceptText(except: readonly Network[]): string {
  return except.length === 0 ? '' : ` except ${except.map(({ text }) => text).join(', ')}`;
}

/** A Pod on a Node's network has the Node's address and counts as that Node, with unknown labels. */
export function nodePeer(nodes: LabelSelector): Clause {
  const selectsNode = (labels: Labels | undefined, name: string): MatchResult =>
    selects(nodes, { labels: labels ?? {}, complete: labels !== undefined, owner: `Node ${name}` });
  return clauseOf(
    `nodes ${selectorText(nodes)}`,
    ({ peer }) => {
      if (peer.kind === 'unknown') return new Unknown(`whether ${endName(peer)} is a Node`);
      if (peer.kind === 'external') return false;
      if (peer.kind === 'node') return selectsNode(peer.node.labels, peer.node.name);
      return peer.pod.hostNetwork && selectsNode(undefined, peer.pod.node ?? `of ${endName(peer)}`);
    },
    peerText,
  );
}

/** The result is always unknown, because no API tells which addresses a name had when the packet was sent. */
export function domainPeer(names: readonly string[]): Clause {
  const named = names.join(', ');
  return clauseOf(
    `domainNames ${named}`,
    ({ peer }) => new Unknown(`whether ${named} had the address ${peer.address ?? endName(peer)}`),
    peerText,
  );
}

/** Returns `is Node node-a`. */
export function peerText({ peer }: Probe): string {
  return `is ${endName(peer)}`;
}
