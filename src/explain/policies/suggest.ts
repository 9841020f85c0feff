/** Suggests the fewest new NetworkPolicies that admit a connection and deny nothing that was admitted. */
import type { CalicoObjects } from './calico/objects.ts';
import { createNamespaces } from './clauses/labels.ts';
import { BlockPeer } from './clauses/peers.ts';
import { portNamesOf, PortName } from './clauses/ports.ts';
import { compilePolicy } from './compile.ts';
import { createEvaluator } from './evaluate.ts';
import {
  type PolicyDirection,
  type End,
  type PolicyFlow,
  type Namespace,
  type PolicyPod,
  type PolicyRef,
  type Tier,
  byTierOrder,
  isCalico,
  isCilium,
  networkPolicyOrder,
  networkPolicyTier,
} from './model.ts';
import { alternativesOf, type Clause, rulePath, type Policy, type PolicySelection, type Rule } from './policy.ts';
import { createPolicySet } from './policy-set.ts';
import type { TierPolicies } from './selection-cache.ts';
import { createProbe, type Probe } from './probe.ts';
import {
  freeName,
  isolatingSelector,
  type LabelsOf,
  lastingSelector,
  nameFor,
  narrowed,
  type OwningWorkload,
  suggestedPeer,
  selectedBy,
} from './suggest-selector.ts';

export interface PolicySuggestion {
  readonly policy: object;
  readonly direction: PolicyDirection;
  /** How many known Pods it admits as peers; undefined if the peer is an address. */
  readonly peers: number | undefined;
  /** How many known Pods it selects. */
  readonly selected: number;
  readonly labelsOf: { readonly own: LabelsOf; readonly peer: LabelsOf | undefined };
  /** The policy admits all protocols, because NetworkPolicies cannot name this one, or the port is not known. */
  readonly anyPort: boolean;
  /** Rules that fail only in one field: a forgotten exception, or a misspelled port name. */
  readonly near: { readonly exceptions: readonly Exception[]; readonly portNames: readonly DeadPortName[] };
}

export type Suggestion =
  | { readonly kind: 'not-needed' }
  | { readonly kind: 'policies'; readonly policies: readonly PolicySuggestion[] }
  | {
      readonly kind: 'refused';
      readonly direction: PolicyDirection;
      readonly by: PolicyRef;
      /**
       * `admin`: `by` overrides every NetworkPolicy. `baseline`: a NetworkPolicy would isolate the Pod. `foreign`: only policies of Calico
       * or Cilium isolate the Pod, and a NetworkPolicy cannot repeat their selectors.
       */
      readonly reason: 'admin' | 'baseline' | 'foreign';
    }
  | { readonly kind: 'unknown'; readonly missing: readonly string[] };

export interface SuggestOptions {
  readonly flow: PolicyFlow;
  readonly policies: readonly Policy[];
  readonly namespaces: readonly Namespace[];
  readonly pods: readonly PolicyPod[];
  readonly ownerOf?: ((pod: PolicyPod) => OwningWorkload | undefined) | undefined;
  readonly calico?: CalicoObjects | undefined;
}

export function suggest(options: SuggestOptions): Suggestion {
  const { flow, policies, namespaces, calico } = options;
  const set = createPolicySet(policies, calico);
  const labels = createNamespaces(namespaces);
  const { verdict } = createEvaluator({ policies: set, namespaces });
  const suggested: PolicySuggestion[] = [];
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

/** If policies decide, the end is always a Pod. */
function ownPod(flow: PolicyFlow, direction: PolicyDirection): PolicyPod {
  return ((direction === 'ingress' ? flow.destination : flow.source) as End & { kind: 'pod' }).pod;
}

/** Policies of Calico with a higher order are evaluated later, so they are not the reason. */
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

function confirmed(
  { flow, policies, namespaces, calico }: SuggestOptions,
  suggested: readonly PolicySuggestion[],
): Suggestion {
  const added = suggested.flatMap(({ policy }) => compilePolicy(policy));
  const { verdict } = createEvaluator({ policies: createPolicySet([...policies, ...added], calico), namespaces });
  const wrong = suggested.map(({ direction }) => verdict(flow, direction)).find(({ outcome }) => outcome !== 'admits');
  if (wrong === undefined) return { kind: 'policies', policies: suggested };
  return { kind: 'unknown', missing: wrong.missing.length > 0 ? wrong.missing : ['a policy that would admit it'] };
}

function suggestOne(
  { flow, policies, pods, ownerOf, namespaces, calico }: SuggestOptions,
  direction: PolicyDirection,
  asked: readonly TierPolicies[],
): PolicySuggestion {
  const peer = direction === 'ingress' ? flow.source : flow.destination;
  const pod = ownPod(flow, direction);
  const lasting = lastingSelector(pod, ownerOf?.(pod));
  const selector = narrowed(lasting.selector, isolatingSelector(policies, pod, direction));
  const selected = selectedBy(selector, pod.namespace, pods);
  const ports = openedPorts(flow);
  const probe = createProbe(flow, direction, false, createNamespaces(namespaces), calico);
  const inTier = asked.filter(({ tier }) => tier.name === networkPolicyTier);
  const admitted = suggestedPeer(peer, pods, ownerOf);
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

/** Returns the ports to open; none for a protocol without ports. DNS also needs TCP, because long answers do not fit into a UDP packet. */
export function openedPorts({ protocol, port }: PolicyFlow): { protocol: string; port: number }[] {
  if (port === undefined) return [];
  const isDns = port === 53 && (protocol === 'UDP' || protocol === 'TCP');
  return isDns ? ['UDP', 'TCP'].map((each) => ({ protocol: each, port })) : [{ protocol, port }];
}

interface Exception {
  readonly policy: PolicyRef;
  readonly path: string;
  readonly except: string;
}

/** A port name that no known Pod of the Namespace has, so the rule never admits. */
interface DeadPortName {
  readonly policy: PolicyRef;
  readonly path: string;
  readonly name: string;
  /** The Pod's names for the port of the connection. */
  readonly own: readonly string[];
}

function nearMisses(
  selecting: readonly PolicySelection[],
  probe: Probe,
  pods: readonly PolicyPod[],
): PolicySuggestion['near'] {
  const exceptions: Exception[] = [];
  const portNames: DeadPortName[] = [];
  const { flow } = probe;
  const own = flow.destination.kind === 'pod' ? portNamesOf(flow.destination.pod, flow) : [];
  for (const { policy } of selecting)
    for (const [index, rule] of (policy.rules[probe.direction] ?? []).entries()) {
      if (rule.action !== 'admit') continue;
      for (const { clause, field, place } of onlyFailing(rule, probe)) {
        const found = { policy: policy.ref, path: `${rulePath(rule, probe.direction, index)}.${field}[${place}]` };
        const except = clause instanceof BlockPeer ? clause.exceptionFor(probe) : undefined;
        if (except !== undefined) exceptions.push({ ...found, except });
        if (clause instanceof PortName && isDead(clause, probe, pods))
          portNames.push({ ...found, name: clause.name, own });
      }
    }
  return { exceptions, portNames };
}

function onlyFailing({ groups }: Rule, probe: Probe): { clause: Clause; field: string; place: number }[] {
  const failing = groups.filter(({ alternatives }) => !alternatives.some((clause) => clause.matches(probe) === true));
  const [group, ...more] = failing;
  if (group === undefined || more.length > 0) return [];
  return alternativesOf(group)
    .map((clause, place) => ({ clause, field: group.field, place }))
    .toArray();
}

function isDead({ name }: PortName, { flow: { destination, protocol } }: Probe, pods: readonly PolicyPod[]): boolean {
  if (destination.kind !== 'pod') return false;
  const { namespace } = destination.pod;
  const inNamespace = [destination.pod, ...pods.filter((each) => each.namespace === namespace)];
  return !inNamespace.some(({ ports = [] }) => ports.some((port) => port.name === name && port.protocol === protocol));
}
