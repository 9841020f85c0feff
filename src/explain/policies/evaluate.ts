/** Evaluates a connection by a set of policies: the verdict, its trace, and the other objects that it depends on. */
import { isIPv6 } from '../../base/platform/address.ts';
import { weightOf } from '../../base/platform/weight.ts';
import { hostEndpointOf } from './calico/endpoint.ts';
import { decide, type PolicyOutcome } from './decide.ts';
import { matchRuleTraces, maxTraced } from './traces.ts';
import {
  type ConnectionVerdict,
  type End,
  type MatchResult,
  type Namespace,
  type PolicyDirection,
  type PolicyFlow,
  type PolicyPod,
  type PolicyRef,
  type Reason,
  type StagedVerdict,
  type Trace,
  Unknown,
} from './model.ts';
import type { PolicySet } from './policy-set.ts';
import type { TierPolicies } from './selection-cache.ts';
import { createNamespaces } from './clauses/labels.ts';
import { createProbe, endName, ownerNow, podName, type Probe } from './probe.ts';
import { anyNamespace, type Needs, newNeeds, type PolicySelection, type Requirements } from './policy.ts';

export interface Evaluator {
  /** Returns whether policies admit the connection at its destination (ingress) or its source (egress). */
  verdict: (flow: PolicyFlow, direction: PolicyDirection) => ConnectionVerdict;
  /** Returns the objects that Calico's policies need besides the two ends. Other policies need none. */
  requirements: (flow: PolicyFlow, direction: PolicyDirection) => Requirements;
  trace: (flow: PolicyFlow, direction: PolicyDirection) => Trace;
}

/** Caches the needs of each list of policies. The list is the same object as long as the Pod and the policies are. */
const neededBy = new WeakMap<readonly TierPolicies[], Needs>();

export function createEvaluator({
  policies,
  namespaces,
}: {
  policies: PolicySet;
  namespaces: Iterable<Namespace>;
}): Evaluator {
  const namespaceLabels = createNamespaces(namespaces);

  return {
    verdict: (flow: PolicyFlow, direction: PolicyDirection): ConnectionVerdict => evaluate(flow, direction).verdict,
    requirements(this: void, flow: PolicyFlow, direction: PolicyDirection): Requirements {
      const isAsked = policies.calico !== undefined && beforePolicies(flow, direction, policies) === undefined;
      const { services, networkSets, accountLabels } = isAsked ? needsOf(probeOf(flow, direction)) : newNeeds();
      const accounts = accountLabels ? [flow.source, flow.destination].flatMap(accountOf) : [];
      return {
        services: [...services].toSorted(),
        serviceAccounts: [...new Set(accounts)].toSorted(),
        networkSets: networkSets.has(anyNamespace) ? 'all' : [...networkSets].toSorted(),
      };
    },
    trace(this: void, flow: PolicyFlow, direction: PolicyDirection): Trace {
      const { verdict, probe } = evaluate(flow, direction);
      if (probe === undefined) return emptyTrace(verdict);
      const selecting = allSelecting(policies, probe);
      const { traced, nearest } = matchRuleTraces(selecting, probe, verdict);
      return {
        verdict,
        policies: traced,
        selectingCount: refsOf(selecting).length,
        isolating: refsOf(selecting.filter(({ policy, selects }) => policy.tier === verdict.tier && selects === true)),
        nearest: verdict.outcome === 'admits' ? undefined : nearest,
        staged: ifEnforced(probe, verdict),
      };
    },
  };

  function evaluate(
    flow: PolicyFlow,
    direction: PolicyDirection,
  ): { verdict: ConnectionVerdict; probe: Probe | undefined } {
    const early = beforePolicies(flow, direction, policies);
    if (early !== undefined) return { verdict: early, probe: undefined };
    const probe = probeOf(flow, direction);
    return { verdict: byPolicies(probe, policies), probe };
  }

  function probeOf(flow: PolicyFlow, direction: PolicyDirection): Probe {
    return createProbe(flow, direction, isItself(flow), namespaceLabels, policies.calico);
  }

  function needsOf(probe: Probe): Needs {
    const list = policies.selecting(probe.pod, probe.direction, namespaceLabels);
    let needs = neededBy.get(list);
    if (needs === undefined) {
      const staged = policies.staged === undefined ? [] : allSelecting(policies.staged, probe);
      needs = collectNeeds([...allSelecting(policies, probe), ...staged], probe.direction);
      neededBy.set(list, needs);
      policies.cache.add(weightOf(needs));
    }
    return needs;
  }

  function ifEnforced(probe: Probe, { outcome }: ConnectionVerdict): StagedVerdict | undefined {
    const { staged } = policies;
    if (staged === undefined) return undefined;
    const verdict = byPolicies(probe, staged);
    if (verdict.outcome === outcome) return undefined;
    const refs = refsOf(allSelecting(staged, probe)).filter(({ kind }) => kind.startsWith('Staged'));
    return { verdict, policies: refs.slice(0, maxTraced) };
  }

  function tiersOf(asked: PolicySet, { pod, direction, flow }: Probe): readonly TierPolicies[] {
    const tiers = asked.selecting(pod, direction, namespaceLabels);
    return flow.byTier === undefined ? tiers : tiers.filter(({ tier }) => tier.name === flow.byTier);
  }

  function allSelecting(asked: PolicySet, probe: Probe): PolicySelection[] {
    return tiersOf(asked, probe).flatMap((each) => each.policies.flat());
  }

  function byPolicies(probe: Probe, asked: PolicySet): ConnectionVerdict {
    return verdictOf(decide(tiersOf(asked, probe), probe), probe);
  }
}

/** Stands for an evaluation that did not take place. */
export function unknownTrace(direction: PolicyDirection, missing: string): Trace {
  return emptyTrace(withoutDecision(direction, 'unknown', 'unknown', [missing]));
}

function emptyTrace(verdict: ConnectionVerdict): Trace {
  return { verdict, policies: [], selectingCount: 0, isolating: [], nearest: undefined, staged: undefined };
}

function collectNeeds(asked: readonly PolicySelection[], direction: PolicyDirection): Needs {
  const needs = newNeeds();
  for (const { policy } of asked) {
    policy.subject.requires?.(needs);
    for (const { groups } of policy.rules[direction] ?? [])
      for (const { alternatives } of groups) for (const clause of alternatives) clause.requires?.(needs);
  }
  return needs;
}

/** Returns each policy once, because a Cilium policy may be split into several parts. */
function refsOf(selecting: readonly PolicySelection[]): PolicyRef[] {
  return [...new Set(selecting.map(({ policy }) => policy.ref))];
}

function verdictOf(outcome: PolicyOutcome, { direction, peer, pod }: Probe): ConnectionVerdict {
  const local = direction === 'ingress' && isOwnNode(peer, pod);
  if (local instanceof Unknown) {
    outcome.admits = true;
    outcome.missing.add(local.missing);
  }
  if (outcome.admits && outcome.denies) return withoutDecision(direction, 'unknown', 'unknown', [...outcome.missing]);
  const { decision, isolatedBy, applies } = outcome;
  const decided = outcome.denies ? 'denies' : 'admits';
  if (decision !== undefined) return { direction, outcome: decided, reason: 'rule', decision, missing: [] };
  if (isolatedBy !== undefined) return { ...withoutDecision(direction, decided, 'isolated'), tier: isolatedBy };
  return withoutDecision(direction, decided, applies ? 'no-rule' : 'not-isolated');
}

function withoutDecision(
  direction: PolicyDirection,
  outcome: ConnectionVerdict['outcome'],
  reason: Reason,
  missing: readonly string[] = [],
): ConnectionVerdict {
  return { direction, outcome, reason, decision: undefined, missing };
}

function accountOf(end: End): string[] {
  return end.kind === 'pod' && end.pod.serviceAccount !== undefined
    ? [`${end.pod.namespace}/${end.pod.serviceAccount}`]
    : [];
}

function beforePolicies(
  flow: PolicyFlow,
  direction: PolicyDirection,
  { calico }: PolicySet,
): ConnectionVerdict | undefined {
  const end = direction === 'ingress' ? flow.destination : flow.source;
  const admits = (reason: Reason): ConnectionVerdict => withoutDecision(direction, 'admits', reason);
  const unknown = (missing: string): ConnectionVerdict => withoutDecision(direction, 'unknown', 'unknown', [missing]);
  if (!isOneFamily(flow))
    return unknown(`addresses of one family: no packet has ${flow.source.address} and ${flow.destination.address}`);
  if (end.kind === 'unknown') return unknown(`which Pod has ${endName(end)}, if any`);
  const host = calico !== undefined && hostEndpointOf(end, calico);
  if (host) return unknown(host.missing);
  if (end.kind !== 'pod' || end.pod.hostNetwork) return admits('no-pod');
  if (end.pod.completed) return unknown(ownerNow(end).missing);
  if (isItself(flow) && flow.viaService !== true) return admits('itself');
  if (direction === 'ingress' && isOwnNode(flow.source, end.pod) === true) return admits('own-node');
  return undefined;
}

function isOneFamily({ source: { address: from }, destination: { address: to } }: PolicyFlow): boolean {
  return from === undefined || to === undefined || isIPv6(from) === isIPv6(to);
}

function isItself({ source, destination }: PolicyFlow): boolean {
  return isEndOf(source, destination) || isEndOf(destination, source);
}

/** An unresolved address may be the Pod's own. */
function isEndOf(end: End, other: End): boolean {
  if (other.kind !== 'pod') return false;
  if (end.kind === 'unknown') return other.pod.addresses.includes(end.address ?? '');
  return end.kind === 'pod' && podName(end.pod) === podName(other.pod);
}

function isOwnNode(source: End, pod: PolicyPod): MatchResult {
  if (source.kind === 'external') return false;
  if (source.kind === 'unknown') return new Unknown(`whether ${endName(source)} is the Node of Pod ${podName(pod)}`);
  if (source.kind === 'pod' && !source.pod.hostNetwork) return false;
  const node = source.kind === 'node' ? source.node.name : source.pod.node;
  if (node === undefined || pod.node === undefined)
    return new Unknown(
      `which Node has Pod ${podName(source.kind === 'node' || pod.node === undefined ? pod : source.pod)}`,
    );
  return node === pod.node;
}
