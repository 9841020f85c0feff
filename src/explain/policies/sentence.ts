/** Writes the verdict in a few words for an Event: the reason first, and the least important part last. */
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { cutBytes, printable } from '../../base/platform/printable.ts';
import {
  type ClauseTrace,
  type PolicyDirection,
  type PolicyRef,
  type PolicyTrace,
  type RuleTrace,
  type Trace,
  type ConnectionVerdict,
  isCalico,
  isCilium,
  networkPolicyTier,
} from './model.ts';

export interface SentenceOptions {
  /** How the Event calls the Pod whose policies were asked. */
  readonly whose?: string;
  /** The node that dropped the packet. Its rules may be older than the policies. */
  readonly node?: string | undefined;
  /** The time of the drop. A policy that changed shortly before may not be enforced yet. */
  readonly at?: Millis | undefined;
  readonly max: number;
}

/** Returns at most `max` printable bytes. It leaves out whole policies before it cuts a text. */
export function sentenceOf(trace: Trace, options: SentenceOptions): string {
  const { outcome } = trace.verdict;
  if (outcome === 'denies') return deniedText(trace, options);
  if (outcome === 'admits') return fitted([admittedText(trace.verdict, options), likelyCause(options)], options.max);
  return fitted([`Cannot tell without: ${trace.verdict.missing.slice(0, 3).join('; ')}.`], options.max);
}

function deniedText(trace: Trace, { whose = 'this Pod', max }: SentenceOptions): string {
  const { verdict, nearest, isolating } = trace;
  if (verdict.decision !== undefined) {
    const { policy, rule } = verdict.decision;
    const traced = trace.policies.find((each) => each.policy === policy)?.rules.find(({ path }) => path === rule);
    return fitted([`Denied by ${policyText(policy)} ${rule}${traced === undefined ? '' : matchingText(traced)}.`], max);
  }
  const denied = `Denied: ${isolatingText(isolating, verdict.tier)} ${whose} for ${verdict.direction}, none admits this`;
  const closest = nearest === undefined ? [] : [`Nearest: ${nearestText(nearest, verdict.direction)}.`];
  const others = isolating.filter((policy) => policy !== nearest?.policy);
  for (let shown = Math.min(others.length, 5); shown >= 0; shown--) {
    const names = others
      .slice(0, shown)
      .map((policy) => `${policyText(policy)}${hasNoRules(policy, trace) ? ' (no rules)' : ''}`);
    const more = others.length - names.length;
    const listed = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    const parts = nearest === undefined ? [`${denied}: ${listed}.`] : [`${denied}.`, ...closest, `Also: ${listed}.`];
    const text = printable(names.length === 0 ? [`${denied}.`, ...closest].join(' ') : parts.join(' '));
    if (Buffer.byteLength(text) <= max) return text;
  }
  return fitted([`${denied}.`, ...closest], max);
}

function hasNoRules(policy: PolicyRef, { policies, verdict }: Trace): boolean {
  const parts = policies.filter((each) => each.policy === policy && each.tier === verdict.tier);
  return parts.length > 0 && parts.every(({ ruleCount }) => ruleCount === 0);
}

function isolatingText(isolating: readonly PolicyRef[], tier = ''): string {
  const count = isolating.length;
  const ofCalico = isolating.find(isCalico);
  if (ofCalico === undefined && isolating.some(isCilium))
    return count === 1 ? '1 policy isolates' : `${count} policies isolate`;
  if (ofCalico === undefined) return count === 1 ? '1 NetworkPolicy isolates' : `${count} NetworkPolicies isolate`;
  const shown = tierText({ policy: ofCalico, tier });
  return `${count === 1 ? '1 policy' : `${count} policies`} of the tier ${shown} isolate${count === 1 ? 's' : ''}`;
}

export function tierText({ policy, tier }: Pick<PolicyTrace, 'policy' | 'tier'>): string {
  return tier === networkPolicyTier && isCalico(policy) ? 'default' : tier;
}

function nearestText({ policy, rule }: NonNullable<Trace['nearest']>, direction: PolicyDirection): string {
  const groups = rule.groups.map(({ count, clause }) => {
    const { name, field } = partsOf(clause);
    const { wants, has } = clause;
    if (clause.match === true) return `${wants} matches`;
    if (count > 1)
      return `none of the ${count} in ${field} matches: the first wants ${wants}, ${otherEnd(direction, field)} ${has}`;
    return `${name} wants ${wants}, ${otherEnd(direction, field)} ${has}`;
  });
  return `${policyText(policy)} ${rule.path}: ${groups.join(', ')}`;
}

/** `ingress[0].source.nets[1]` → `source.nets[1]`, `source.nets`. */
function partsOf({ path }: ClauseTrace): { name: string; field: string } {
  const name = path.replace(/^(?:specs\[\d+\]\.)?[^.]+\./, '');
  return { name, field: name.replace(/\[\d+\]$/, '') };
}

function otherEnd(direction: PolicyDirection, field: string): string {
  if (/^source\.(?!ports|notPorts)/.test(field)) return 'the source';
  if (/^destination\.(?!ports|notPorts)/.test(field)) return 'the destination';
  if (!/^(?:from|to)(?!Ports)/.test(field)) return 'the packet';
  return direction === 'ingress' ? 'the source' : 'the destination';
}

function matchingText({ groups }: RuleTrace): string {
  const wants = groups.flatMap((group) => group.find(({ match }) => match === true)?.wants ?? []);
  return wants.length === 0 ? '' : ` (${wants.join(', ')})`;
}

function admittedText(
  { reason, decision, direction }: ConnectionVerdict,
  { whose = 'this Pod', at }: SentenceOptions,
): string {
  switch (reason) {
    case 'rule': {
      if (decision === undefined) return 'Policies admit this.';
      const { policy, rule, changed } = decision;
      const age = changed === undefined || at === undefined ? NaN : at - changed;
      // An older change is left out, because it is enforced everywhere by now.
      const recent = age >= 0 && age < recently ? `, changed ${humanDuration(age)} before` : '';
      const later = age < 0 ? ', changed since' : '';
      return `Policies admit this (${policyText(policy)} ${rule}${recent}${later}).`;
    }
    case 'not-isolated':
      return `Policies admit this: none isolates ${whose} for ${direction}.`;
    case 'no-rule':
      return `Policies admit this: no rule denies it, and none isolates ${whose} for ${direction}.`;
    case 'own-node':
      return 'Policies admit this: a Node reaches its own Pods.';
    case 'itself':
      return 'Policies admit this: a Pod reaches itself.';
    case 'no-pod':
    case 'isolated':
    case 'unknown':
      return `Policies admit this: none selects ${whose}.`;
    default:
      return reason satisfies never;
  }
}

const recently: Millis = 10 * 60_000;

function likelyCause({ node }: SentenceOptions): string {
  const where = node === undefined ? '' : ` on ${node}`;
  return `Likely: rules not programmed yet${where}, a host firewall, or a connection that conntrack does not know.`;
}

/** Returns `shop/default-deny`, `ClusterNetworkPolicy lockdown`, `NetworkPolicy.projectcalico.org shop/x`. */
export function policyText({ apiVersion, kind, namespace, name }: PolicyRef): string {
  const isOfCalico = kind === 'NetworkPolicy' && isCalico({ apiVersion });
  if (kind === 'NetworkPolicy' && namespace !== undefined && !isOfCalico) return `${namespace}/${name}`;
  return `${kind}${isOfCalico ? '.projectcalico.org' : ''} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function fitted(parts: readonly string[], max: number): string {
  for (let count = parts.length; count > 1; count--) {
    const text = printable(parts.slice(0, count).join(' '));
    if (Buffer.byteLength(text) <= max) return text;
  }
  return cutBytes(printable(parts[0] ?? ''), max);
}
