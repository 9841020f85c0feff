/** Names what the known policies decide about a drop, for a row of the audit. */
import type { Finding } from '../model/finding.ts';
import type { PolicyName } from '../model/packet.ts';
import { isCalico, type PolicyRef, type Trace } from '../policies/policies.ts';
import { type KnownPolicies, traceDrop } from './policy-trace.ts';

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
