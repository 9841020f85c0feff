/** Writes the verdict in a few words for an Event: the reason first, and the least important part last. */
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { cutBytes, printable } from '../../base/platform/printable.ts';
import {
  type ClauseTrace,
  type RuleDecision,
  type PolicyDirection,
  type NearestRule,
  type PolicyRef,
  type PolicyTrace,
  type RuleTrace,
  type Trace,
  type ConnectionVerdict,
  isCalico,
  networkPolicyTier,
} from './model.ts';

export interface SentenceOptions {
  /** How the Event calls the Pod whose policies allow the packet. */
  readonly whose?: string;
  /** What the Event shows elsewhere of the ends and the port. It is not repeated. */
  readonly said?: readonly string[];
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
  if (outcome === 'admits')
    return fitted([admittedText(trace.verdict, options), likelyCause(trace.verdict, options)], options.max);
  return fitted([`Cannot tell without: ${trace.verdict.missing.slice(0, 3).join('; ')}.`], options.max);
}

function deniedText(trace: Trace, { max, said = [] }: SentenceOptions): string {
  const { verdict, nearest, isolating } = trace;
  if (verdict.decision !== undefined) {
    const { policy, rule } = verdict.decision;
    if (nearest !== undefined && deniesTheRest(trace)) {
      const behind =
        nearest.policy === policy ? '' : ` behind ${kindText([nearest.policy])}${policyRefText(nearest.policy)}`;
      const denied = `Denied by ${policyRefText(policy)} ${rule}${behind}`;
      return cutBytes(printable(`${denied}: ${nearestText(nearest, verdict.direction, said)}.`), max);
    }
    const traced = decidingRule(trace);
    return fitted(
      [`Denied by ${policyRefText(policy)} ${rule}${traced === undefined ? '' : matchingText(traced)}.`],
      max,
    );
  }
  if (nearest !== undefined) {
    const more = isolating.length > 1 ? ` (and ${isolating.length - 1} more)` : '';
    const denied = `Denied by ${kindText([nearest.policy])}${policyRefText(nearest.policy)}${tierSuffix(trace)}${more}`;
    return cutBytes(printable(`${denied}: ${nearestText(nearest, verdict.direction, said)}.`), max);
  }
  for (let shown = Math.min(isolating.length, 5); shown > 1; shown--) {
    const text = printable(`Denied by ${isolatingText(shown, trace)}.`);
    if (Buffer.byteLength(text) <= max) return text;
  }
  return cutBytes(printable(`Denied by ${isolatingText(1, trace)}.`), max);
}

/** Returns whether the rule that decided denies all that the rules before it do not allow. */
export function deniesTheRest(trace: Trace): boolean {
  return trace.verdict.outcome === 'denies' && trace.nearest !== undefined && decidingRule(trace)?.groups.length === 0;
}

function decidingRule({ verdict: { decision }, policies }: Trace): RuleTrace | undefined {
  return policies.find(({ policy }) => policy === decision?.policy)?.rules.find(({ path }) => path === decision?.rule);
}

/** Returns `NetworkPolicies shop/default-deny (no ingress rules), shop/lockdown (no ingress rules) and 2 more`. */
function isolatingText(shown: number, trace: Trace): string {
  const { isolating, verdict } = trace;
  const noRules = ` (no ${verdict.direction} rules)`;
  const names = isolating
    .slice(0, shown)
    .map((policy) => `${policyRefText(policy)}${hasNoRules(policy, trace) ? noRules : ''}`);
  const more = isolating.length - names.length;
  return `${kindText(isolating)}${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}${tierSuffix(trace)}`;
}

/** '' if `policyRefText` shows the kinds. */
function kindText(policies: readonly PolicyRef[]): string {
  const isPlain = policies.every(({ kind, apiVersion }) => kind === 'NetworkPolicy' && !isCalico({ apiVersion }));
  return isPlain ? `NetworkPolic${policies.length === 1 ? 'y' : 'ies'} ` : '';
}

function tierSuffix({ isolating, verdict: { tier = '' } }: Trace): string {
  const policy = isolating.find(isCalico);
  const shown = policy === undefined ? 'default' : tierText({ policy, tier });
  return shown === 'default' ? '' : ` (tier ${shown})`;
}

function hasNoRules(policy: PolicyRef, { policies, verdict }: Trace): boolean {
  const parts = policies.filter((each) => each.policy === policy && each.tier === verdict.tier);
  return parts.length > 0 && parts.every(({ ruleCount }) => ruleCount === 0);
}

export function tierText({ policy, tier }: Pick<PolicyTrace, 'policy' | 'tier'>): string {
  return tier === networkPolicyTier && isCalico(policy) ? 'default' : tier;
}

/** Returns `ingress[0] allows only Pods app=web in shop; the sender is app=worker in batch`. */
function nearestText(
  { rule }: NonNullable<Trace['nearest']>,
  direction: PolicyDirection,
  said: readonly string[],
): string {
  const failing = rule.groups.filter(({ clause }) => clause.match !== true);
  const portTexts = failing.filter(isOfPorts).map(allowsText);
  // Calico has the protocol as a field of its own, which the ports name again.
  const ports = portTexts.filter((each) => !portTexts.some((other) => other.includes(`/${each}`))).join(', ');
  const peers = failing
    .filter((group) => !isOfPorts(group))
    .map((group) => allowsText(group).replace(/^not /, 'others than '))
    .join(', ');
  const what = [ports, peers].filter((each) => each !== '').join(direction === 'ingress' ? ' from ' : ' to ');
  const is = failing.map(({ clause }) => isText(clause, direction, said)).filter((each) => each !== '');
  return `${rule.path} allows only ${what}${is.length === 0 ? '' : `; ${[...new Set(is)].join(', ')}`}`;
}

/** Returns `app=worker in batch` if the rule lacks only these Pods; undefined if it lacks more, or labels do not describe what it lacks. */
export function deniedPods({ groups }: NearestRule): string | undefined {
  const failing = groups.filter(({ clause }) => clause.match !== true);
  const [only] = failing;
  if (failing.length !== 1 || only === undefined || isOfPorts(only)) return undefined;
  const { is = '' } = only.clause.inWords() ?? {};
  return /^(?:is|has) ([\w./-]+=[\w.-]+(?: in [\w.-]+)?)$/.exec(is)?.[1];
}

/** Returns `the sender is app=worker in batch`, without what the Event has said; '' if that is all. */
function isText(clause: ClauseTrace, direction: PolicyDirection, said: readonly string[]): string {
  const { is: text = clause.has } = clause.inWords() ?? {};
  const end = otherEnd(direction, fieldOf(clause));
  if (text.startsWith('its ')) return `${end}'s ${text.slice('its '.length)}`;
  const known = said
    .flatMap((each) => [`is ${each}`, `has ${each}`])
    .find((each) => text === each || text.startsWith(`${each}, `));
  const news = known === undefined ? text : text.slice(known.length + ', '.length);
  if (news === '' || news === 'not a Pod') return '';
  if (news.startsWith('and ')) return news.slice('and '.length);
  if (known === undefined || news.startsWith('which ')) return `${end} ${text}`;
  return `${end} ${news.startsWith('is ') ? '' : 'is '}${news}`;
}

function isOfPorts({ clause }: NearestRule['groups'][number]): boolean {
  return portFields.test(fieldOf(clause));
}

const portFields = /(?:ports|protocols?|icmps?)$/i;

/** The first of the alternatives is shown for all, if none matches: `80/TCP or 2 other ports`. */
function allowsText({ count, clause }: NearestRule['groups'][number]): string {
  const { allows = clause.wants } = clause.inWords() ?? {};
  const others = count - 1;
  if (clause.match === true || others === 0) return allows;
  const field = fieldOf(clause);
  const noun = /ports$/i.test(field) ? ' port' : portFields.test(field) ? '' : ' peer';
  return `${allows} or ${others} other${noun}${others === 1 ? '' : 's'}`;
}

/** `ingress[0].source.nets[1]` → `source.nets`. */
function fieldOf({ path }: ClauseTrace): string {
  return path.replace(/^(?:specs\[\d+\]\.)?[^.]+\./, '').replace(/\[\d+\]$/, '');
}

function otherEnd(direction: PolicyDirection, field: string): string {
  if (/^source\.(?!ports|notPorts)/.test(field)) return 'the sender';
  if (/^destination\.(?!ports|notPorts)/.test(field)) return 'the receiver';
  if (!/^(?:from|to)(?!Ports)/.test(field)) return 'this';
  return direction === 'ingress' ? 'the sender' : 'the receiver';
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
      if (decision === undefined) return 'Policies allow this.';
      const { policy, rule, changed } = decision;
      const age = ageOf(decision, at);
      const recent = isRecent(age) ? `, changed ${humanDuration(age)} before` : '';
      const later = changed !== undefined && age < 0 ? ', changed since' : '';
      return `Policies allow this (${policyRefText(policy)} ${rule}${recent}${later}).`;
    }
    case 'not-isolated':
      return `Policies allow this: none restricts ${direction} of ${whose}.`;
    case 'no-rule':
      return `Policies allow this: no rule denies it, and none restricts ${direction} of ${whose}.`;
    case 'own-node':
      return 'Policies allow this: a Node can always reach its own Pods.';
    case 'itself':
      return 'Policies allow this: a Pod can always reach itself.';
    case 'no-pod':
    case 'isolated':
    case 'unknown':
      return `Policies allow this: none selects ${whose}.`;
    default:
      return reason satisfies never;
  }
}

/** NaN if not known. */
function ageOf({ changed }: RuleDecision, at: Millis | undefined): Millis {
  return changed === undefined || at === undefined ? NaN : at - changed;
}

/** An older change is left out, because it is enforced everywhere by now. */
function isRecent(age: Millis): boolean {
  return age >= 0 && age < recently;
}

const recently: Millis = 10 * 60_000;

function likelyCause({ decision, reason }: ConnectionVerdict, { node, at }: SentenceOptions): string {
  const where = node === undefined ? '' : ` on ${node}`;
  if (reason === 'own-node') return `Likely: a rule of ${node ?? 'the node'} itself, such as a host firewall.`;
  return decision !== undefined && isRecent(ageOf(decision, at))
    ? `Likely: the change was not in force yet${where}.`
    : `Likely: rules not in force yet${where}, a host firewall, or a connection that conntrack does not know.`;
}

/** Returns `shop/default-deny`, `ClusterNetworkPolicy lockdown`, `NetworkPolicy.projectcalico.org shop/x`. */
export function policyRefText({ apiVersion, kind, namespace, name }: PolicyRef): string {
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
