/** The policies that are asked about a drop, and what they say of it. */
import type { Endpoint, ObjectRef } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { PolicyName } from '../model/packet.ts';
import type { Series } from '../model/series.ts';
import { isName } from '../platform/address.ts';
import {
  connectionOf,
  type Direction,
  type End,
  type Evaluator,
  type Flow,
  isCalico,
  type Namespace,
  type Pod,
  type PolicyRef,
  type Trace,
} from '../policies/policies.ts';

/** Known objects of the cluster. */
export interface KnownPolicies {
  /** The Namespace with its labels; undefined: not known. */
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly namespace: (name: string) => Namespace | undefined;
  readonly trace: Evaluator['trace'];
}

/** The objects that a verdict needs. */
export interface PolicyNeeds {
  readonly pods: readonly ObjectRef[];
  readonly namespaces: readonly string[];
}

/** The connection that policies are asked about; of a scan of one port that of the first packet. */
export function askedOf({ finding, ports }: Pick<Series, 'finding' | 'ports'>): Finding {
  const { details } = finding;
  const isOfOne = details.kind === 'scan' && details.of === 'target' && ports.seen.length === 1;
  return isOfOne ? { ...finding, details: details.example } : finding;
}

/** Undefined if policies have no part in the drop, or too little of the packet is known. */
export function policyNeeds({ details, regarding }: Finding): PolicyNeeds | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pods = [regarding, details.peer.object].filter((each) => each?.kind === 'Pod') as ObjectRef[];
  return { pods, namespaces: [...new Set(pods.flatMap(({ namespace }) => namespace ?? []))] };
}

/**
 * Records of Antrea and OVN name the policy that denied. A LOG prefix names one whose LOG rule matched. ClusterNetworkPolicies of AWS are not
 * evaluated. Policies do not see addresses of Services, and the address of a peer that is only named (Calico's flows) is unknown.
 */
function isOfPolicies(details: FlowDetails): boolean {
  const { enforcer, clusterTier, martian, error, ownAddressIsForeign, protocol, peer, policy, prefix } = details;
  return (
    enforcer === 'network-policy' &&
    clusterTier === undefined &&
    (policy === undefined || prefix !== '') &&
    !martian &&
    error === undefined &&
    protocol !== '' &&
    !ownAddressIsForeign &&
    peer.kind !== 'service' &&
    !isName(peer.address) &&
    !(peer.kind === 'pod' && peer.note !== undefined)
  );
}

export interface Side {
  readonly direction: Direction;
  readonly isOwn: boolean;
}

/** The end that denies the drop, or else is unknown, or admits it. */
interface TracedDrop {
  readonly side: Side;
  readonly trace: Trace;
}

interface Question {
  readonly flow: Flow;
  readonly sides: readonly Side[];
}

/** Undefined if there is nothing to say, as for `policyNeeds`. */
export function questionOf({ details, regarding }: Finding, known: Pick<KnownPolicies, 'pod'>): Question | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pod = known.pod(regarding.namespace ?? '', regarding.name);
  if (pod === undefined) return undefined;
  const own: End = podEnd(pod, details.ownAddress);
  const peer = peerEnd(details.peer, known);
  const ends =
    details.direction === 'receiving' ? { source: peer, destination: own } : { source: own, destination: peer };
  return { flow: connectionOf(details, ends, details), sides: sidesOf(details) };
}

/** Undefined if there is nothing to say, as for `policyNeeds`. */
export function traceDrop(finding: Finding, known: KnownPolicies): TracedDrop | undefined {
  const question = questionOf(finding, known);
  if (question === undefined) return undefined;
  const { flow, sides } = question;
  const traced = sides.map((side) => ({ side, trace: known.trace(flow, side.direction) }));
  return (
    traced.find((each) => each.trace.verdict.outcome === 'denies') ??
    traced.find((each) => each.trace.verdict.outcome === 'unknown') ??
    traced[0]
  );
}

/** The ends whose policies may have dropped it: the one that the interfaces show, else both, the own first. */
function sidesOf({ direction, reply, refusedBy }: FlowDetails): Side[] {
  const receiving = direction === 'receiving';
  // Answers are admitted with the connection, so both ends are asked.
  const own: Side = { direction: receiving === reply ? 'egress' : 'ingress', isOwn: true };
  const other: Side = { direction: receiving === reply ? 'ingress' : 'egress', isOwn: false };
  if (reply || refusedBy === undefined) return [own, other];
  return refusedBy === (receiving ? 'receiver' : 'sender') ? [own] : [other];
}

/** It had the address then, whatever has become of it. */
function podEnd(pod: Pod, address: string): End {
  return { kind: 'pod', pod: pod.completed ? { ...pod, completed: false } : pod, address };
}

function peerEnd({ kind, object, address, node, hostName }: Endpoint, known: Pick<KnownPolicies, 'pod'>): End {
  if (kind === 'pod' && object !== undefined) {
    const { namespace = '', name } = object;
    const unknown: Pod = {
      namespace,
      name,
      labels: undefined,
      addresses: [address],
      node,
      hostNetwork: false,
      completed: false,
      ports: undefined,
    };
    return podEnd(known.pod(namespace, name) ?? unknown, address);
  }
  if (kind === 'node' && object !== undefined)
    return { kind: 'node', node: { name: object.name, labels: undefined }, address };
  return kind === 'external' ? { kind, address, hostName } : { kind: 'unknown', address };
}

/** Names what the known policies decide about a drop, for a row of the audit. */
export interface PolicyFacts {
  readonly verdict: 'denied' | 'admitted' | 'unknown';
  /** Whose policies decide: of the destination or the source. */
  readonly direction: 'ingress' | 'egress' | undefined;
  /** The policy whose rule decides, or else those that isolate the Pod: `NetworkPolicy shop/default-deny`. At most `mostNamed`. */
  readonly decidedBy: readonly string[];
  readonly count: number;
  readonly rule: string | undefined;
  /** The denying rule that fails at the fewest places: `NetworkPolicy shop/allow-frontend ingress[0]`. */
  readonly nearest: string | undefined;
}

const mostNamed = 8;

const verdicts = { denies: 'denied', admits: 'admitted', unknown: 'unknown' } as const;

/** The facts on the first finding that policies can decide; undefined if there is none, or too little is known. */
export function policyFacts(
  findings: readonly Finding[],
  known: (finding: Finding) => KnownPolicies | undefined,
): PolicyFacts | undefined {
  for (const finding of findings) {
    const policies = known(finding);
    const traced = policies && traceDrop(finding, policies);
    if (traced !== undefined) return factsOf(traced.trace);
  }
  return undefined;
}

function factsOf(trace: Trace): PolicyFacts {
  const { outcome, direction, decision } = trace.verdict;
  const deciding = decision === undefined ? isolating(trace) : { policies: [decision.policy], count: 1 };
  const { nearest } = trace;
  return {
    verdict: verdicts[outcome],
    direction,
    decidedBy: deciding.policies.slice(0, mostNamed).map(refName),
    count: deciding.count,
    rule: decision?.rule,
    nearest:
      outcome === 'denies' && nearest !== undefined ? `${refName(nearest.policy)} ${nearest.rule.path}` : undefined,
  };
}

function isolating({ verdict, policies, selecting }: Trace): { policies: readonly PolicyRef[]; count: number } {
  if (verdict.reason !== 'isolated') return { policies: [], count: 0 };
  const found = policies.filter(({ tier, selects }) => tier === verdict.tier && selects === true);
  // The tier of policies without a trace is not known.
  const untraced = selecting - policies.length;
  return { policies: found.map(({ policy }) => policy), count: found.length + untraced };
}

/** The same spelling as `loggedName`. */
function refName({ apiVersion, kind, namespace, name }: PolicyRef): string {
  const ofCalico = isCalico({ apiVersion });
  return loggedName({
    kind: ofCalico && kind === 'NetworkPolicy' ? 'NetworkPolicy.projectcalico.org' : kind,
    namespace,
    // Calico stores policies with their tier before the name.
    name: ofCalico ? name.replace(/^default\./, '') : name,
  });
}

/** `NetworkPolicy shop/default-deny`, `GlobalNetworkPolicy lockdown`; without commas, which stand between several. */
export function loggedName({ kind, namespace, name }: Pick<PolicyName, 'kind' | 'namespace' | 'name'>): string {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind ?? 'policy'} ${full}`.replaceAll(',', '_');
}
