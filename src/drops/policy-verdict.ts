/** What the policies that are known say of a drop, for its Event. */
import type { Endpoint, ObjectRef } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { PolicyName } from '../model/packet.ts';
import {
  connectionOf,
  type Direction,
  type End,
  type Evaluator,
  type Namespace,
  type Pod,
  type PolicyRef,
  sentenceOf,
  type Trace,
} from '../policies/policies.ts';
import { nameOf, policyText } from './endpoint-name.ts';

/** Objects of the cluster, as far as they are known. */
export interface KnownPolicies {
  /** With its labels; undefined: not known. */
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly namespace: (name: string) => Namespace | undefined;
  readonly trace: Evaluator['trace'];
}

export interface PolicyVerdict {
  readonly outcome: 'admits' | 'denies' | 'unknown';
  /** At most `longest` bytes, printable: the reason first. */
  readonly text: string;
  /** The only policy that denies; undefined where several do, or where it is not to be named to the reader. */
  readonly policy: PolicyName | undefined;
}

/** What has to be known for a verdict. */
export interface PolicyNeeds {
  readonly pods: readonly ObjectRef[];
  readonly namespaces: readonly string[];
}

/** Bytes: with all that an Event says beside it, it stays below 600. */
const longest = 400;

/** Who labels a Namespace so is not described to other Namespaces. */
const optOut = { key: 'kube-netfilter-tailer/audit', value: 'redacted' };

/** Undefined where policies have no part in the drop, or it is not known well enough what was dropped. */
export function policyNeeds({ details, regarding }: Finding): PolicyNeeds | undefined {
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pods = [regarding, details.peer.object].filter((each) => each?.kind === 'Pod') as ObjectRef[];
  return { pods, namespaces: [...new Set(pods.flatMap(({ namespace }) => namespace ?? []))] };
}

/**
 * A record of what enforces policies (Antrea, OVN) names the policy that denied. A LOG prefix, which such records do not have, names one
 * whose LOG rule matched. A Service's address is none that a policy sees.
 */
function isOfPolicies(details: FlowDetails): boolean {
  const { enforcer, martian, error, ownAddressIsForeign, protocol, peer, policy, prefix } = details;
  return (
    enforcer === 'network-policy' &&
    (policy === undefined || prefix !== '') &&
    !martian &&
    error === undefined &&
    protocol !== '' &&
    !ownAddressIsForeign &&
    peer.kind !== 'service' &&
    !(peer.kind === 'pod' && peer.note !== undefined)
  );
}

/** One end of the connection, asked for its policies. */
interface Side {
  readonly direction: Direction;
  readonly isOwn: boolean;
}

/** `at`: wall-clock time of the packet. Undefined where there is nothing to say, as of `policyNeeds`. */
export function policyVerdict(finding: Finding, known: KnownPolicies, at: Millis): PolicyVerdict | undefined {
  const { details, regarding } = finding;
  if (details.kind !== 'flow' || !isOfPolicies(details)) return undefined;
  const pod = known.pod(regarding.namespace ?? '', regarding.name);
  if (pod === undefined) return undefined;
  const own: End = podEnd(pod, details.ownAddress);
  const peer = peerEnd(details.peer, known);
  const ends =
    details.direction === 'receiving' ? { source: peer, destination: own } : { source: own, destination: peer };
  const flow = connectionOf(details, ends, details);
  const traced = sidesOf(details).map((side) => ({ side, trace: known.trace(flow, side.direction) }));
  const chosen =
    traced.find((each) => each.trace.verdict.outcome === 'denies') ??
    traced.find((each) => each.trace.verdict.outcome === 'unknown') ??
    traced[0];
  if (chosen === undefined) return undefined;
  const { side, trace } = chosen;
  const shown = withoutLabels(trace, details.peer, regarding, known);
  const verdict = side.isOwn ? ownVerdict(shown, finding, at) : peerVerdict(shown, finding, details.peer, at);
  if (details.policy === undefined) return verdict;
  // What the log names is all that is known then.
  return verdict.outcome === 'unknown' ? undefined : besideLog(verdict, details.policy, trace, regarding);
}

/**
 * That a rule of a policy has logged a packet does not mean that it denied it: the next rule, or another policy, may admit it. Undefined
 * where that policy is not known, so that what others say does not count against the log.
 */
function besideLog(
  verdict: PolicyVerdict,
  named: PolicyName,
  { verdict: { decision }, policies }: Trace,
  own: ObjectRef,
): PolicyVerdict | undefined {
  const asked = policies.map(({ policy }) => policy).filter((policy) => isNamed(policy, named));
  if (verdict.outcome !== 'denies' && asked.length === 0) return undefined;
  // A name that was cut off means the only policy that begins so; of another Namespace it stays what the log has.
  const [only] = asked.length === 1 ? asked : [];
  const isShown = only !== undefined && (only.namespace === undefined || only.namespace === own.namespace);
  const logged = isShown ? { ...named, namespace: only.namespace, name: only.name } : named;
  const isDenying = decision === undefined ? asked.length > 0 : isNamed(decision.policy, named);
  if (verdict.outcome === 'denies' && isDenying) return { ...verdict, policy: logged };
  return { ...verdict, text: `${verdict.text} The log names ${policyText(logged)}.`, policy: logged };
}

/** Calico stores policies with their tier before the name. */
function isNamed(policy: PolicyRef, { namespace, name, tier }: PolicyName): boolean {
  if (namespace !== undefined && !matches(policy.namespace ?? '', namespace)) return false;
  return matches(policy.name, name) || matches(policy.name, `${tier ?? 'default'}.${name}`);
}

/** Where it was cut off there is a mark. */
function matches(whole: string, named: string): boolean {
  return named.endsWith('…') ? whole.startsWith(named.slice(0, -1)) : whole === named;
}

function ownVerdict(trace: Trace, { node }: Finding, at: Millis): PolicyVerdict {
  const { outcome } = trace.verdict;
  const text = sentenceOf(trace, { node: node || undefined, at, max: longest });
  return { outcome, text, policy: denying(trace) };
}

/** Policies of another Namespace are not for who reads this one's Events; those of the whole cluster are. */
function peerVerdict(trace: Trace, { node, regarding }: Finding, peer: Endpoint, at: Millis): PolicyVerdict {
  const { outcome, decision, direction } = trace.verdict;
  const whose = nameOf(peer);
  const options = { node: node || undefined, at, max: longest, whose };
  const namespace = peer.object?.namespace;
  const isOfCluster = decision !== undefined && decision.policy.namespace === undefined;
  if (namespace === regarding.namespace || isOfCluster) {
    return { outcome, text: sentenceOf(trace, options), policy: denying(trace) };
  }
  const policy = undefined;
  if (outcome === 'unknown') return { outcome, text: `Cannot tell what the policies of ${whose} say.`, policy };
  if (outcome === 'admits') {
    const verdict = { ...trace.verdict, decision: undefined };
    return { outcome, text: sentenceOf({ ...trace, verdict }, options), policy };
  }
  const text = `Denied by the ${direction} policies of ${whose}. Check: kubectl -n ${namespace} describe networkpolicy`;
  return { outcome, text, policy };
}

/** The rule's that denies, or the one that isolates the Pod. */
function denying({ verdict, policies, selecting }: Trace): PolicyName | undefined {
  if (verdict.outcome !== 'denies') return undefined;
  const policy = verdict.decision?.policy ?? (selecting === 1 ? policies[0]?.policy : undefined);
  if (policy === undefined) return undefined;
  const { kind, namespace, name } = policy;
  return { kind, namespace, name, tier: undefined };
}

/** Whose policies may have dropped it: those of the end that the interfaces show, else of both; its own first. */
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

function peerEnd({ kind, object, address, node }: Endpoint, known: KnownPolicies): End {
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
  return { kind: kind === 'external' ? 'external' : 'unknown', address };
}

/** Clauses that show labels, of Kubernetes and of Calico. */
const ofPeer = /\.(?:from|to)\[\d+\]$|\.(?:source|destination)\.(?:selector|notSelector)$/;

/** What the peer has instead of what a rule wants is left out where its Namespace asked not to be named, or is not known. */
function withoutLabels(trace: Trace, peer: Endpoint, own: ObjectRef, known: KnownPolicies): Trace {
  const namespace = peer.kind === 'pod' ? peer.object?.namespace : undefined;
  if (trace.nearest === undefined || namespace === undefined || namespace === own.namespace) return trace;
  const labels = known.namespace(namespace)?.labels;
  if (labels !== undefined && labels[optOut.key] !== optOut.value) return trace;
  const { policy, rule } = trace.nearest;
  const groups = rule.groups.map((group) =>
    group.map((clause) => (ofPeer.test(clause.path) ? { ...clause, has: 'does not match' } : clause)),
  );
  return { ...trace, nearest: { policy, rule: { ...rule, groups } } };
}
