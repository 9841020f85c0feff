/** Reads API objects. Nothing here throws: an invalid object becomes undefined, or makes the verdict unknown. */
import { at, instant, type Json, list, spelled, strings, text } from '../../../base/platform/json.ts';
import { type Clause, type Policy, type Rule, type Subject, unusable } from '../policy.ts';
import { type LabelSelector, type LabelSet, readSelector, selectorText, selects } from '../clauses/labels.ts';
import {
  type Action,
  type PolicyDirection,
  type Labels,
  type MatchResult,
  type NamedPort,
  type Namespace,
  type PolicyNode,
  type PolicyPod,
  type PolicyRef,
  anyTier,
  both,
  Unknown,
} from '../model.ts';
import { type FieldShapes, isGiven, strangeField } from './fields.ts';
import { canonicalAddress } from '../../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../../base/platform/api-names.ts';

export function refOf(object: Json): PolicyRef {
  return {
    apiVersion: text(at(object, 'apiVersion')) ?? '',
    kind: text(at(object, 'kind')) ?? '',
    namespace: text(at(object, 'metadata', 'namespace')),
    name: text(at(object, 'metadata', 'name')) ?? '',
  };
}

export function changedOf(object: Json): number | undefined {
  const times = list(at(object, 'metadata', 'managedFields')).map((each) => instant(at(each, 'time')));
  const known = [...times, instant(at(object, 'metadata', 'creationTimestamp'))].filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

export function fieldsOf(object: Json): string[] {
  if (typeof object !== 'object' || object === null) return [];
  return Object.entries(object).flatMap(([key, value]) => (isGiven(value) ? [key] : []));
}

/** Reads a selector. An absent one selects everything, as an empty one does. */
export function selectorAt(object: Json, field: string): LabelSelector {
  const value = at(object, field);
  return isGiven(value) ? readSelector(value) : [];
}

export class LabelSubject implements Subject {
  readonly #namespaces: LabelSelector | undefined;
  readonly pods: LabelSelector;

  /** `namespaces` is undefined for a policy of one Namespace, because policies are found by it. */
  constructor(namespaces: LabelSelector | undefined, pods: LabelSelector) {
    this.#namespaces = namespaces;
    this.pods = pods;
  }

  selects(pod: LabelSet, namespace: LabelSet): MatchResult {
    if (this.#namespaces === undefined) return selects(this.pods, pod);
    return both(selects(this.#namespaces, namespace), () => selects(this.pods, pod));
  }

  text(): string {
    if (this.#namespaces === undefined) return `podSelector ${selectorText(this.pods)}`;
    const namespaces = `namespaces ${selectorText(this.#namespaces)}`;
    const pods = selectorText(this.pods);
    return pods === '{}' ? namespaces : `${namespaces}, pods ${pods}`;
  }
}

export function strangeClause(what: string, object: Json, fields: FieldShapes): Clause | undefined {
  const strange = strangeField(object, fields);
  return strange === undefined ? undefined : unusable(`${what} has the unknown field ${strange}`);
}

export function strangeClauses(what: string, object: Json, fields: FieldShapes): Clause[] {
  const clause = strangeClause(what, object, fields);
  return clause === undefined ? [] : [clause];
}

/** Replaces a policy that is invalid or not evaluated: it may do anything to the Pods of its Namespace, or of all Namespaces. */
export function unknownPolicy(object: Json, tier: string, reason: string): Policy {
  const ref = refOf(object);
  const why = `what ${policyRefName(ref)} says: ${reason}`;
  return {
    ref,
    tier,
    order: -Infinity,
    subject: { selects: () => new Unknown(why), text: () => `(${reason})` },
    rules: unknownRules(why),
    changed: changedOf(object),
  };
}

export function awayPolicy(apiVersion: string): Policy {
  const object = { apiVersion, kind: 'policies', metadata: { name: '(any)' } };
  return unknownPolicy(object, anyTier, `the server of ${apiVersion} is away`);
}

export function unknownRules(why: string): Policy['rules'] {
  const rules = anyAction('rules', why);
  return { ingress: rules, egress: rules };
}

/** Replaces a rule with an unknown action. */
export function anyAction(field: string, why: string): Rule[] {
  return (['admit', 'deny', 'pass'] as const).map((action) => rule(action, [[field, [unusable(why)]]]));
}

/** Reads the rules of a direction. A rule is named by its place in the policy, although one with an unknown action becomes three. */
export function readRules(given: readonly Json[], direction: PolicyDirection, read: (each: Json) => Rule[]): Rule[] {
  const rules = given.map(read);
  // Paths take memory, and a rule without one is named by its index.
  if (rules.every(({ length }) => length === 1)) return rules.flat();
  return rules.flatMap((some, index) => some.map((each) => ({ ...each, path: `${direction}[${index}]` })));
}

export function policyRefName({ kind, namespace, name }: PolicyRef): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

export function rule(
  action: Action,
  fields: readonly (readonly [field: string, alternatives: readonly Clause[]])[],
): Rule {
  // `map` allocates no spare room, which matters with ten thousand policies.
  const groups = fields
    .filter(([, { length }]) => length > 0)
    .map(([field, alternatives]) => ({ field, alternatives }));
  return { action, groups };
}

export function readPod(object: Json): PolicyPod | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isSubdomain);
  const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
  if (name === undefined || namespace === undefined) return undefined;
  const addresses = [
    ...list(at(object, 'status', 'podIPs')).map((each) => at(each, 'ip')),
    at(object, 'status', 'podIP'),
  ].map((each) => canonicalAddress(text(each) ?? ''));
  const phase = at(object, 'status', 'phase');
  return {
    namespace,
    name,
    labels: strings(at(object, 'metadata', 'labels')),
    addresses: [...new Set(addresses.filter((address) => address !== ''))],
    node: spelled(at(object, 'spec', 'nodeName'), isSubdomain),
    hostNetwork: at(object, 'spec', 'hostNetwork') === true,
    completed: phase === 'Succeeded' || phase === 'Failed',
    ports: portsOf(object),
    // The API server sets this default, but a manifest may lack the field.
    serviceAccount: spelled(at(object, 'spec', 'serviceAccountName'), isSubdomain) ?? 'default',
  };
}

/** Returns the containers of a Pod that keep running: also the init containers that do so (kubernetes#125285), and those first. */
export function lastingContainers(pod: Json): Json[] {
  const sidecars = list(at(pod, 'spec', 'initContainers')).filter((each) => at(each, 'restartPolicy') === 'Always');
  return [...sidecars, ...list(at(pod, 'spec', 'containers'))];
}

/** Each clause of a policy that names a port compares all of them, and a user who may create a Pod may name ten thousands. */
const mostNamedPorts = 128;

/** Undefined if there are too many to compare. */
function portsOf(pod: Json): NamedPort[] | undefined {
  const ports = lastingContainers(pod).flatMap(namedPorts);
  return ports.length > mostNamedPorts ? undefined : ports;
}

function namedPorts(container: Json): NamedPort[] {
  return list(at(container, 'ports')).flatMap((each) => {
    const [name, port] = [text(at(each, 'name')), at(each, 'containerPort')];
    if (name === undefined || typeof port !== 'number') return [];
    return [{ name, port, protocol: text(at(each, 'protocol')) ?? 'TCP' }];
  });
}

export function readNamespace(object: Json): Namespace | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isLabel);
  return name === undefined ? undefined : { name, labels: strings(at(object, 'metadata', 'labels')) };
}

export function readNode(object: Json): (PolicyNode & { readonly labels: Labels }) | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isSubdomain);
  return name === undefined ? undefined : { name, labels: strings(at(object, 'metadata', 'labels')) };
}
