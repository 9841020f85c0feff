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

/** Objects of the cluster, as far as they are known. */
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

/** Returns the connection that policies are asked about for the Event of a series; for a scan of one port, that of the first packet. */
export function askedOf({ finding, ports }: Pick<Series, 'finding' | 'ports'>): Finding {
  const { details } = finding;
  const isOfOne = details.kind === 'scan' && details.of === 'target' && ports.seen.length === 1;
  return isOfOne ? { ...finding, details: details.example } : finding;
}

/** Undefined if policies have no part in the drop, or too little is known of the packet. */
export function policyNeeds({ details, regarding }: Finding): PolicyNeeds | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pods = [regarding, details.peer.object].filter((each) => each?.kind === 'Pod') as ObjectRef[];
  return { pods, namespaces: [...new Set(pods.flatMap(({ namespace }) => namespace ?? []))] };
}

/**
 * A record of what enforces policies (Antrea, OVN) names the policy that denied. A LOG prefix, which such records do not have, names one
 * whose LOG rule matched. The ClusterNetworkPolicies of AWS are not evaluated. A Service's address is none that a
 * policy sees, and of a peer that is only named (Calico's flows) no address is known.
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

/** One end of the connection, asked for its policies. */
export interface Side {
  readonly direction: Direction;
  readonly isOwn: boolean;
}

/** Returns what decides on a drop: one end denies it, or else it is not known, or both ends admit it. */
interface TracedDrop {
  readonly side: Side;
  readonly trace: Trace;
}

/** The connection of a drop, and whose policies are asked. */
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

/** Returns the ends whose policies may have dropped it: the end that the interfaces show, else both, its own first. */
function sidesOf({ direction, reply, refusedBy }: FlowDetails): Side[] {
  const receiving = direction === 'receiving';
  // An answer is admitted with the connection, so both ends of that are asked.
  const own: Side = { direction: receiving === reply ? 'egress' : 'ingress', isOwn: true };
  const other: Side = { direction: receiving === reply ? 'ingress' : 'egress', isOwn: false };
  if (reply || refusedBy === undefined) return [own, other];
  return refusedBy === (receiving ? 'receiver' : 'sender') ? [own] : [other];
}

/** It had the address when the packet was dropped, whatever has become of it. */
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
  /** The end whose policies decide: the destination or the source. Undefined: not known. */
  readonly direction: 'ingress' | 'egress' | undefined;
  /** `NetworkPolicy shop/default-deny`: the one whose rule decides, or else those that isolate the Pod. At most `mostNamed`. */
  readonly decidedBy: readonly string[];
  /** The number of policies. */
  readonly count: number;
  /** `ingress[0]`: the rule that decides; undefined if none does. */
  readonly rule: string | undefined;
  /** `NetworkPolicy shop/allow-frontend ingress[0]`: of what denies, the rule that fails at the fewest places. */
  readonly nearest: string | undefined;
}

/** More have no place in a row. */
const mostNamed = 8;

const verdicts = { denies: 'denied', admits: 'admitted', unknown: 'unknown' } as const;

/** Returns the first of a packet's findings that policies can decide. Undefined if there is none, or too little is known of policies. */
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

/** Nothing where they do not deny. */
function isolating({ verdict, policies, selecting }: Trace): { policies: readonly PolicyRef[]; count: number } {
  if (verdict.reason !== 'isolated') return { policies: [], count: 0 };
  const found = policies.filter(({ tier, selects }) => tier === verdict.tier && selects === true);
  // The tier of policies that are not traced is not known.
  const untraced = selecting - policies.length;
  return { policies: found.map(({ policy }) => policy), count: found.length + untraced };
}

/** Spelled as `loggedName` if a log names the same policy. */
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
