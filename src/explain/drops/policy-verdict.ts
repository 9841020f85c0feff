/** Says in an Event what the known policies decide about a drop. */
import { auditOptOut } from '../../base/model/choices.ts';
import type { Endpoint, ObjectRef } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { connectFailure, type PolicyName } from '../../base/model/packet.ts';
import type { PolicyAnswer, PolicyVerdict } from '../../base/model/policy-answer.ts';
import {
  type ClauseTrace,
  deniedPods,
  deniesTheRest,
  isCalico,
  type PolicyRef,
  sentenceOf,
  type Trace,
} from '../policies/policies.ts';
import { mayName, type Reader } from '../../base/model/readers.ts';
import { endpointName, policyText } from './names.ts';
import { policyFactsOf, type KnownPolicies, traceDrop, type TracedDrop } from './policy-trace.ts';

/** The longest text in bytes. With names of usual length, the whole message stays below 600 bytes. */
const longest = 320;

/** Returns undefined if no policy can be evaluated, or if the result would contradict the log. `at`: when the packet was dropped (wall clock). */
export function policyVerdict(finding: Finding, known: KnownPolicies, at: Millis): PolicyVerdict | undefined {
  const traced = traceDrop(finding, known);
  return traced && verdictOf(traced, finding, known, at);
}

/** The same for an Event and for a row, by one evaluation. */
export function policyAnswer(finding: Finding, known: KnownPolicies, at: Millis): PolicyAnswer | undefined {
  const traced = traceDrop(finding, known);
  const verdict = traced && verdictOf(traced, finding, known, at);
  return verdict && { verdict, facts: policyFactsOf(traced.trace) };
}

/** Returns what policies were found to say of the finding before it was counted; undefined if they have not been asked yet. */
export function foundAnswer(finding: Finding | undefined): PolicyAnswer | undefined {
  return finding?.details.kind === 'flow' ? finding.details.answer : undefined;
}

function verdictOf(traced: TracedDrop, finding: Finding, known: KnownPolicies, at: Millis): PolicyVerdict | undefined {
  const { details, regarding } = finding;
  if (details.kind !== 'flow') return undefined;
  const { side, trace } = traced;
  const reader = readerOf(regarding, known);
  const shown = shownTo(reader, trace);
  const verdict = side.isOwn
    ? ownVerdict(shown, finding, at)
    : peerVerdict({ ...traced, trace: shown }, finding, details.peer, at, reader);
  if (details.policy === undefined) return verdict;
  // If the outcome is unknown, only the policy in the log is certain.
  if (verdict.outcome === 'unknown') return undefined;
  const beside = besideLog(verdict, details.policy, trace, reader);
  // A record without a prefix is of a program that enforces policies: the evaluation may only add the reason.
  return details.prefix === '' && (verdict.outcome !== 'denies' || beside?.text !== verdict.text) ? undefined : beside;
}

/** A rule that logs a packet need not deny it: another may admit it. Undefined if the text would contradict the log. */
function besideLog(
  verdict: PolicyVerdict,
  named: PolicyName,
  { verdict: { decision }, policies }: Trace,
  reader: Reader,
): PolicyVerdict | undefined {
  const asked = policies.map(({ policy }) => policy).filter((policy) => isNamed(policy, named));
  if (verdict.outcome !== 'denies' && asked.length === 0) return undefined;
  // The log may cut off a name, which then means the only policy that begins so. A policy of another Namespace is shown as in the log.
  const [only] = asked.length === 1 ? asked : [];
  const isShown = only !== undefined && mayName(only, reader);
  const logged = isShown ? { ...named, namespace: only.namespace, name: only.name } : named;
  const isDenying = decision === undefined ? asked.length > 0 : isNamed(decision.policy, named);
  if (verdict.outcome === 'denies' && isDenying) return { ...verdict, policy: logged };
  return { ...verdict, text: `${verdict.text} The log names ${policyText(logged)}.`, policy: logged };
}

/** Calico stores policies as `TIER.NAME`. */
function isNamed(policy: PolicyRef, { namespace, name, tier }: PolicyName): boolean {
  if (namespace !== undefined && !matches(policy.namespace ?? '', namespace)) return false;
  return matches(policy.name, name) || matches(policy.name, `${tier ?? 'default'}.${name}`);
}

function matches(whole: string, named: string): boolean {
  return named.endsWith('…') ? whole.startsWith(named.slice(0, -1)) : whole === named;
}

function ownVerdict(trace: Trace, finding: Finding, at: Millis): PolicyVerdict {
  const { node } = finding;
  const { outcome } = trace.verdict;
  const pods = podsToAllow(trace);
  const act = actionOn(trace, finding, pods);
  const text = sentenceOf(trace, { node: node || undefined, at, max: longest, said: saidOf(finding, pods, act) });
  return { outcome, text, act, policy: denying(trace), isOwn: true };
}

/** Returns the Pods that the nearest rule would have to allow; undefined if it lacks more, or something else. */
function podsToAllow({ nearest }: Trace): string | undefined {
  return nearest && deniedPods(nearest.rule);
}

/** For policies that the reader may change, and those of the whole cluster. */
function actionOn(trace: Trace, { node, details }: Finding, pods: string | undefined): string {
  const { nearest, isolating } = trace;
  const { outcome } = trace.verdict;
  const decision = deniesTheRest(trace) ? undefined : trace.verdict.decision;
  if (outcome === 'unknown') return '';
  if (outcome === 'admits') return `If it repeats, ask the cluster admins to check ${node || 'the node'}.`;
  const deciding = decision?.policy ?? nearest?.policy ?? isolating[0];
  if (deciding !== undefined && deciding.namespace === undefined) return 'To allow it, ask the cluster admins.';
  if (decision !== undefined) return 'To allow it, change that rule.';
  if (nearest === undefined) return 'To allow it, add a policy.';
  // NetworkPolicies have no ports of ICMP, GRE and others.
  if (
    nearest.policy.kind === 'NetworkPolicy' &&
    !isCalico(nearest.policy) &&
    details.kind === 'flow' &&
    details.port === undefined
  )
    return 'To allow it, add a rule without ports.';
  const failing = nearest.rule.groups.filter(({ clause }) => clause.match !== true);
  // Where two fields fail, adding to both would allow more than this connection.
  if (failing.length !== 1) return 'To allow it, add a rule.';
  return `To allow ${pods === undefined ? 'it' : `Pods ${pods}`}, extend that rule.`;
}

/** Returns what the Event shows besides the verdict: the ends, the port, and the Pods that the action names. */
function saidOf({ details }: Finding, pods: string | undefined, act: string): string[] {
  if (details.kind !== 'flow') return [];
  const { peer, ownAddress, protocol, port } = details;
  const { kind = '', namespace, name } = peer.object ?? {};
  const object = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const named = pods !== undefined && act.includes(pods) ? [pods] : [];
  return [peer.address, ownAddress, object, port === undefined ? protocol : `${port}/${protocol}`, ...named];
}

/** Readers of this Namespace's Events may know cluster-wide policies and Nodes, but nothing about other Namespaces. */
function peerVerdict(
  { trace, ownAdmits = false }: TracedDrop,
  finding: Finding,
  peer: Endpoint,
  at: Millis,
  reader: Reader,
): PolicyVerdict {
  const { node, regarding, details } = finding;
  const { outcome, decision, direction } = trace.verdict;
  const whose = endpointName(peer);
  const isOwn = false;
  const pods = podsToAllow(trace);
  const act = actionOn(trace, finding, pods);
  const options = { node: node || undefined, at, max: longest, whose, said: saidOf(finding, pods, act) };
  const namespace = peer.object?.namespace;
  const isOfCluster = decision !== undefined && mayName(decision.policy, reader);
  const isForeign = namespace !== undefined && namespace !== regarding.namespace;
  // A rule that denies the rest says nothing of the rule that lacks this, which is most likely of that Namespace.
  const isRest = isForeign && deniesTheRest(trace);
  if (!isForeign || (isOfCluster && !isRest)) {
    return { outcome, text: sentenceOf(trace, options), act, policy: denying(trace), isOwn };
  }
  const policy = undefined;
  if (outcome === 'unknown') {
    const own = ownAdmits ? '; those of this Pod allow this' : '';
    const ask = ownAdmits ? `Ask the owners of namespace ${namespace}.` : '';
    return { outcome, text: `Cannot tell what the policies of ${whose} say${own}.`, act: ask, policy, isOwn };
  }
  if (outcome === 'admits') {
    const verdict = { ...trace.verdict, decision: undefined };
    return { outcome, text: sentenceOf({ ...trace, verdict }, options), act, policy, isOwn };
  }
  // A connection that failed has an Event on its sender only.
  const hasEvent = details.kind === 'flow' && details.logger !== connectFailure;
  const ask = hasEvent ? askOwners(whose) : 'To allow it, ask its owners.';
  if (isOfCluster) {
    const text = sentenceOf({ ...trace, nearest: undefined }, options);
    return { outcome, text, act: ask, policy: denying(trace), isOwn };
  }
  return { outcome, text: `Denied by ${direction} policies of namespace ${namespace}.`, act: ask, policy, isOwn };
}

/** Readers of a Pod's Events seldom have rights in the Namespace of its peer. */
function askOwners(whose: string): string {
  return `To allow it, ask its owners: the Event on ${whose} names the rule.`;
}

/** Returns the policy of the rule that denies, or the only policy that isolates the Pod. */
function denying({ verdict, policies, selectingCount }: Trace): PolicyName | undefined {
  if (verdict.outcome !== 'denies') return undefined;
  const policy = verdict.decision?.policy ?? (selectingCount === 1 ? policies[0]?.policy : undefined);
  if (policy === undefined) return undefined;
  const { kind, namespace, name } = policy;
  return { kind, namespace, name, tier: undefined };
}

/** Hides what the nearest rule's clauses show of objects that the reader may not know. */
function shownTo(reader: Reader, trace: Trace): Trace {
  if (trace.nearest === undefined) return trace;
  const { policy, rule } = trace.nearest;
  const groups = rule.groups.map(({ count, clause }) => ({
    count,
    clause: clause.about().every((each) => mayName(each, reader)) ? clause : hidden(clause),
  }));
  return { ...trace, nearest: { policy, rule: { ...rule, groups } } };
}

function hidden(clause: ClauseTrace): ClauseTrace {
  const has = 'does not match';
  return { ...clause, has, inWords: () => ({ allows: clause.inWords()?.allows ?? clause.wants, is: '' }) };
}

/** A Namespace that is not known counts as one that has opted out. */
function readerOf({ namespace }: ObjectRef, known: KnownPolicies): Reader {
  return {
    namespace,
    hasOptedOut(name) {
      const labels = known.namespace(name)?.labels;
      return labels === undefined || labels[auditOptOut.key] === auditOptOut.value;
    },
  };
}
