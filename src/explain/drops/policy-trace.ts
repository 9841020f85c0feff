/** Finds the policies that apply to a drop, and evaluates them. */
import type { Endpoint, ObjectRef } from '../../base/model/endpoint.ts';
import type { Finding, FlowDetails } from '../../base/model/finding.ts';
import type { PolicyName } from '../../base/model/packet.ts';
import type { PolicyFacts } from '../../base/model/policy-answer.ts';
import type { Series } from '../../base/model/series.ts';
import { isName } from '../../base/platform/address.ts';
import {
  connectionOf,
  type End,
  type Evaluator,
  isCalico,
  type Namespace,
  networkPolicyTier,
  type PolicyDirection,
  type PolicyFlow,
  type PolicyPod,
  type PolicyRef,
  type Trace,
} from '../policies/policies.ts';

export interface KnownPolicies {
  readonly pod: (namespace: string, name: string) => PolicyPod | undefined;
  readonly namespace: (name: string) => Namespace | undefined;
  readonly trace: Evaluator['trace'];
}

export interface PolicyNeeds {
  readonly pods: readonly ObjectRef[];
  readonly namespaces: readonly string[];
}

/** For a scan of one port, policies are asked about the scan's example. */
export function askedOf({ finding, ports }: Pick<Series, 'finding' | 'ports'>): Finding {
  const { details } = finding;
  const isOfOne = details.kind === 'scan' && details.of === 'target' && ports.seen.length === 1;
  return isOfOne ? { ...finding, details: details.example } : finding;
}

/** Returns undefined if policies have no part in the drop, or too little is known about the packet. */
export function policyNeeds({ details, regarding }: Finding): PolicyNeeds | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pods = [regarding, details.peer.object].filter((each) => each?.kind === 'Pod') as ObjectRef[];
  return { pods, namespaces: [...new Set(pods.flatMap(({ namespace }) => namespace ?? []))] };
}

/**
 * Records of Antrea and OVN (without a prefix) name the policy that denied, while a LOG prefix only names a policy that matched. If a record
 * names a NetworkPolicy that isolates the Pod (Kube-OVN), only its rules say why it does not allow the packet.
 * ClusterNetworkPolicies of AWS are not evaluated. Policies do not see addresses of Services. If the logger only names the peer (Calico's
 * flows), its address is unknown.
 */
function isOfPolicies(details: FlowDetails): boolean {
  const { enforcer, clusterTier, martian, error, ownAddressIsForeign, protocol, peer, prefix } = details;
  const { policy, policyIsHidden, byNetworkPolicies } = details;
  return (
    enforcer === 'network-policy' &&
    clusterTier === undefined &&
    (((policy === undefined || byNetworkPolicies === true) && policyIsHidden !== true) || prefix !== '') &&
    !martian &&
    error === undefined &&
    protocol !== '' &&
    !ownAddressIsForeign &&
    peer.kind !== 'service' &&
    !isName(peer.address) &&
    !(peer.kind === 'pod' && peer.note !== undefined)
  );
}

export interface DropSide {
  readonly direction: PolicyDirection;
  readonly isOwn: boolean;
}

/** The end that denies; else the end whose verdict is unknown; else the first end, which admits. */
export interface TracedDrop {
  readonly side: DropSide;
  readonly trace: Trace;
  /** The other end is unknown, and the policies of the own one admit the packet. */
  readonly ownAdmits?: boolean;
}

interface Question {
  readonly flow: PolicyFlow;
  readonly sides: readonly DropSide[];
}

/** Returns undefined in the same cases as `policyNeeds`, and if the finding's Pod is not known. */
export function questionOf({ details, regarding }: Finding, known: Pick<KnownPolicies, 'pod'>): Question | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pod = known.pod(regarding.namespace ?? '', regarding.name);
  if (pod === undefined) return undefined;
  const own: End = podEnd(pod, details.ownAddress);
  const peer = peerEnd(details.peer, known);
  const ends =
    details.direction === 'receiving' ? { source: peer, destination: own } : { source: own, destination: peer };
  const byCilium = details.logger === 'hubble' || details.logger === 'gke-policy-action';
  const byTier = details.byNetworkPolicies && networkPolicyTier;
  return { flow: { ...connectionOf(details, ends, details), byCilium, byTier }, sides: sidesOf(details) };
}

export function traceDrop(finding: Finding, known: KnownPolicies): TracedDrop | undefined {
  const question = questionOf(finding, known);
  if (question === undefined) return undefined;
  const { flow, sides } = question;
  const traced: TracedDrop[] = [];
  for (const side of sides) {
    const trace = known.trace(flow, side.direction);
    // The policies of the other end take the time of this one's Namespace, so they are left out where they change nothing.
    if (trace.verdict.outcome === 'denies') return { side, trace };
    traced.push({ side, trace });
  }
  const unknown = traced.find(({ trace }) => trace.verdict.outcome === 'unknown');
  const [first] = traced;
  return unknown === undefined ? first : { ...unknown, ownAdmits: first !== unknown && first?.side.isOwn === true };
}

/** Returns the ends whose policies may have dropped the packet: the end that refused, if known; else both, the own end first. */
function sidesOf({ direction, reply, refusedBy }: FlowDetails): DropSide[] {
  const receiving = direction === 'receiving';
  const own: DropSide = { direction: receiving === reply ? 'egress' : 'ingress', isOwn: true };
  const other: DropSide = { direction: receiving === reply ? 'ingress' : 'egress', isOwn: false };
  // Replies are admitted together with the connection, so both ends are evaluated.
  if (reply || refusedBy === undefined) return [own, other];
  return refusedBy === (receiving ? 'receiver' : 'sender') ? [own] : [other];
}

/** Returns the Pod as if it still ran, because it had the address when the packet was dropped. */
function podEnd(pod: PolicyPod, address: string): End {
  return { kind: 'pod', pod: pod.completed ? { ...pod, completed: false } : pod, address };
}

function peerEnd({ kind, object, address, node, hostName }: Endpoint, known: Pick<KnownPolicies, 'pod'>): End {
  if (kind === 'pod' && object !== undefined) {
    const { namespace = '', name } = object;
    const unknown: PolicyPod = {
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
  return kind === 'external' ? { kind, address, hostName } : { kind: 'unknown', address: address || undefined };
}

const mostNamed = 8;

const verdicts = { denies: 'denied', admits: 'admitted', unknown: 'unknown' } as const;

export function policyFacts(
  findings: readonly Finding[],
  known: (finding: Finding) => KnownPolicies | undefined,
): PolicyFacts | undefined {
  for (const finding of findings) {
    const policies = known(finding);
    const traced = policies && traceDrop(finding, policies);
    if (traced !== undefined) return policyFactsOf(traced.trace);
  }
  return undefined;
}

export function policyFactsOf(trace: Trace): PolicyFacts {
  const { outcome, direction, decision } = trace.verdict;
  const deciding = decision === undefined ? trace.isolating : [decision.policy];
  const { nearest } = trace;
  return {
    verdict: verdicts[outcome],
    direction,
    decidedBy: deciding.slice(0, mostNamed).map(refName),
    count: deciding.length,
    rule: decision?.rule,
    nearest:
      outcome === 'denies' && nearest !== undefined ? `${refName(nearest.policy)} ${nearest.rule.path}` : undefined,
  };
}

function refName({ apiVersion, kind, namespace, name }: PolicyRef): string {
  const ofCalico = isCalico({ apiVersion });
  return loggedName({
    kind: ofCalico && kind === 'NetworkPolicy' ? 'NetworkPolicy.projectcalico.org' : kind,
    namespace,
    // Calico stores policies of the tier `default` as `default.NAME`.
    name: ofCalico ? name.replace(/^default\./, '') : name,
  });
}

/** Returns `NetworkPolicy shop/default-deny`. Commas are replaced, because they separate policies in a list. */
export function loggedName({ kind, namespace, name }: Pick<PolicyName, 'kind' | 'namespace' | 'name'>): string {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind ?? 'policy'} ${full}`.replaceAll(',', '_');
}
