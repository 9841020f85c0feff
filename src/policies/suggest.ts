/** The least new NetworkPolicies that admit a connection, and deny nothing that was admitted. */
import { isIPv6 } from '../platform/address.ts';
import { readSelector, selects } from './clauses/labels.ts';
import { createEvaluator } from './evaluate.ts';
import type { Direction, End, Flow, Namespace, Pod, PolicyRef } from './model.ts';
import { createNamespaces, namespaceNameLabel, podLabels } from './clauses/labels.ts';
import type { CalicoObjects } from './calico/objects.ts';
import { compilePolicy } from './compile.ts';
import { type NearMisses, nearMisses } from './near-misses.ts';
import { createPolicySet, type TierPolicies } from './policy-set.ts';
import { createProbe } from './probe.ts';
import type { Policy } from './policy.ts';
import { isolating, lastingSelector, narrowed, type Owner, type PlainSelector } from './suggest-selector.ts';
import { byTierOrder, isCalico, isCilium, networkPolicyOrder, networkPolicyTier, type Tier } from './tiers.ts';

export interface Suggested {
  /** A networking.k8s.io/v1 NetworkPolicy. */
  readonly policy: object;
  readonly direction: Direction;
  /** The number of known Pods that it admits as peers; undefined if the peer is an address. */
  readonly peers: number | undefined;
  /** The number of known Pods that it selects. */
  readonly selected: number;
  /** The owners whose labels select the Pod and the peer; undefined if the peer is an address. */
  readonly labelsOf: { readonly own: 'owner' | 'pod'; readonly peer: 'owner' | 'pod' | undefined };
  /** It names a protocol that NetworkPolicies cannot name, and so admits all of them. */
  readonly anyPort: boolean;
  /** Rules that admit it but for one field. */
  readonly near: NearMisses;
}

export type Suggestion =
  | { readonly kind: 'not-needed' }
  | { readonly kind: 'policies'; readonly policies: readonly Suggested[] }
  /** A NetworkPolicy that admits it would be overruled, or would isolate a Pod that is not isolated now. */
  | {
      readonly kind: 'refused';
      readonly direction: Direction;
      readonly by: PolicyRef;
      /**
       * `admin`: it goes over each NetworkPolicy; `baseline`: a NetworkPolicy would isolate the Pod; `foreign`: policies of Calico or
       * Cilium alone isolate the Pod, whose selectors no NetworkPolicy can repeat.
       */
      readonly reason: 'admin' | 'baseline' | 'foreign';
    }
  | { readonly kind: 'unknown'; readonly missing: readonly string[] };

export interface SuggestOptions {
  readonly flow: Flow;
  readonly policies: readonly Policy[];
  readonly namespaces: readonly Namespace[];
  /** The known Pods, to count what else is admitted. */
  readonly pods: readonly Pod[];
  /** Returns the owner of a Pod; undefined: none, or it is not known. */
  readonly ownerOf?: ((pod: Pod) => Owner | undefined) | undefined;
  /** Calico's objects beside policies; undefined: not known. */
  readonly calico?: CalicoObjects | undefined;
}

export function suggest(options: SuggestOptions): Suggestion {
  const { flow, policies, namespaces, calico } = options;
  const set = createPolicySet(policies, calico);
  const labels = createNamespaces(namespaces);
  const { verdict } = createEvaluator({ policies: set, namespaces });
  const suggested: Suggested[] = [];
  for (const direction of ['ingress', 'egress'] as const) {
    const { outcome, decision, missing, tier } = verdict(flow, direction);
    if (outcome === 'unknown') return { kind: 'unknown', missing };
    if (outcome === 'admits') continue;
    const asked = set.selecting(ownPod(flow, direction), direction, labels);
    const refusal = refusalOf(asked, set.tiers.get(networkPolicyTier) as Tier, decision?.policy, tier);
    if (refusal !== undefined) return { kind: 'refused', direction, ...refusal };
    suggested.push(suggestOne(options, direction, asked));
  }
  if (suggested.length === 0) return { kind: 'not-needed' };
  return confirmed(options, suggested);
}

/** A verdict other than that policies admit is of a Pod. */
function ownPod(flow: Flow, direction: Direction): Pod {
  return ((direction === 'ingress' ? flow.destination : flow.source) as End & { kind: 'pod' }).pod;
}

/**
 * Why no NetworkPolicy helps. One is asked in its tier before policies of Calico that have a higher order, so those do not keep it from
 * admitting.
 */
function refusalOf(
  asked: readonly TierPolicies[],
  ofNetworkPolicies: Tier,
  decided: PolicyRef | undefined,
  tier: string | undefined,
): { by: PolicyRef; reason: 'admin' | 'baseline' | 'foreign' } | undefined {
  const inTiers = asked.map((each) => ({
    tier: each.tier,
    policies: each.policies.flat().map(({ policy }) => policy),
  }));
  const denying = inTiers.find((each) => each.tier.name === tier || each.policies.some(({ ref }) => ref === decided));
  const policy = denying?.policies.find(({ ref }) => ref === decided) ?? denying?.policies[0];
  if (denying === undefined || policy === undefined) return undefined;
  const by = policy.ref;
  if (denying.tier.name !== networkPolicyTier)
    return { by, reason: byTierOrder(ofNetworkPolicies, denying.tier) < 0 ? 'baseline' : 'admin' };
  if (decided !== undefined && policy.order <= networkPolicyOrder) return { by, reason: 'admin' };
  return denying.policies.some(({ ref }) => !isCalico(ref) && !isCilium(ref)) ? undefined : { by, reason: 'foreign' };
}

/** Checks that the suggestion admits the connection, in case something was overlooked. */
function confirmed(
  { flow, policies, namespaces, calico }: SuggestOptions,
  suggested: readonly Suggested[],
): Suggestion {
  const added = suggested.flatMap(({ policy }) => compilePolicy(policy));
  const { verdict } = createEvaluator({ policies: createPolicySet([...policies, ...added], calico), namespaces });
  const wrong = suggested.map(({ direction }) => verdict(flow, direction)).find(({ outcome }) => outcome !== 'admits');
  if (wrong === undefined) return { kind: 'policies', policies: suggested };
  return { kind: 'unknown', missing: wrong.missing.length > 0 ? wrong.missing : ['a policy that would admit it'] };
}

function suggestOne(
  { flow, policies, pods, ownerOf, namespaces, calico }: SuggestOptions,
  direction: Direction,
  asked: readonly TierPolicies[],
): Suggested {
  const peer = direction === 'ingress' ? flow.source : flow.destination;
  const pod = ownPod(flow, direction);
  const lasting = lastingSelector(pod, ownerOf?.(pod));
  const selector = narrowed(lasting.selector, isolating(policies, pod, direction));
  const selected = selectedBy(selector, pod.namespace, pods);
  const ports = openedPorts(flow);
  const probe = createProbe(flow, direction, false, createNamespaces(namespaces), calico);
  const inTier = asked.filter(({ tier }) => tier.name === networkPolicyTier);
  const admitted = peerOf(peer, pods, ownerOf);
  const rule = {
    [direction === 'ingress' ? 'from' : 'to']: [admitted.peer],
    ...(ports.length === 0 ? {} : { ports }),
  };
  const taken = new Set(policies.filter(({ ref }) => ref.namespace === pod.namespace).map(({ ref }) => ref.name));
  return {
    direction,
    policy: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: freeName(nameFor(direction, admitted.name, flow), taken), namespace: pod.namespace },
      spec: {
        podSelector: selector,
        policyTypes: [direction === 'ingress' ? 'Ingress' : 'Egress'],
        [direction]: [rule],
      },
    },
    peers: admitted.count,
    selected: selected.length,
    labelsOf: { own: lasting.from, peer: admitted.labelsOf },
    anyPort: ports.length === 0,
    near: nearMisses(
      inTier.flatMap((each) => each.policies.flat()),
      probe,
      pods,
    ),
  };
}

/** Nothing for a protocol without ports. DNS asks again over TCP where an answer does not fit into a UDP packet. */
export function openedPorts({ protocol, port }: Flow): { protocol: string; port: number }[] {
  if (port === undefined) return [];
  const isDns = port === 53 && (protocol === 'UDP' || protocol === 'TCP');
  return isDns ? ['UDP', 'TCP'].map((each) => ({ protocol: each, port })) : [{ protocol, port }];
}

interface Peer {
  readonly peer: object;
  readonly count: number | undefined;
  readonly name: string;
  readonly labelsOf: 'owner' | 'pod' | undefined;
}

function peerOf(peer: End, pods: readonly Pod[], ownerOf: SuggestOptions['ownerOf']): Peer {
  if (peer.kind === 'pod' && !peer.pod.hostNetwork) {
    const { namespace } = peer.pod;
    const owner = ownerOf?.(peer.pod);
    const lasting = lastingSelector(peer.pod, owner);
    const podSelector = narrowed(lasting.selector, []);
    const peers = selectedBy(podSelector, namespace, pods).filter((each) => !each.completed && !each.hostNetwork);
    const namespaceSelector = { matchLabels: { [namespaceNameLabel]: namespace } };
    const name = `${namespace}-${baseName(peer.pod, owner)}`;
    return { peer: { namespaceSelector, podSelector }, count: peers.length, name, labelsOf: lasting.from };
  }
  const address = peer.address ?? '';
  const ipBlock = { cidr: `${address}/${isIPv6(address) ? 128 : 32}` };
  return { peer: { ipBlock }, count: undefined, name: address, labelsOf: undefined };
}

function selectedBy(selector: PlainSelector, namespace: string, pods: readonly Pod[]): Pod[] {
  const read = readSelector(selector);
  return pods.filter((each) => each.namespace === namespace && selects(read, podLabels(each)) === true);
}

function baseName({ name, labels = {} }: Pod, owner: Owner | undefined): string {
  return labels['app.kubernetes.io/name'] ?? labels['app'] ?? labels['k8s-app'] ?? owner?.name ?? name;
}

function nameFor(direction: Direction, peer: string, { port, protocol }: Flow): string {
  const text = `allow-${direction === 'ingress' ? '' : 'to-'}${peer}-${port ?? protocol}`.toLowerCase();
  const name = text.replaceAll(/[^a-z0-9]+/g, '-').slice(0, 200);
  return name.endsWith('-') ? name.slice(0, -1) : name;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
  return free;
}
