/** Reads what all kinds of policies have in common as API objects. Nothing here throws: an invalid policy decides nothing. */
import { at, instant, type Json, list, text } from '../../platform/json.ts';
import { type Clause, unusable } from '../clauses/clause.ts';
import { type LabelSelector, readSelector, selectorText, selects } from '../clauses/labels.ts';
import type { Action, PolicyRef } from '../model.ts';
import type { Policy, Rule, Subject } from '../policy.ts';
import { anyTier } from '../tiers.ts';
import { both } from '../match.ts';
import { type Fields, strangeField } from './fields.ts';

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

/** The fields that an object has; a null is none, as in Go. */
export function fieldsOf(object: Json): string[] {
  if (typeof object !== 'object' || object === null) return [];
  return Object.entries(object).flatMap(([key, value]) => (value === null || value === undefined ? [] : [key]));
}

/** A selector that is absent selects all, as an empty one. */
export function selectorAt(object: Json, field: string): LabelSelector {
  const value = at(object, field);
  return value === undefined || value === null ? [] : readSelector(value);
}

/** Pods by the labels of their Namespace and by their own. */
export class LabelSubject implements Subject {
  readonly #namespaces: string | { selector: LabelSelector };
  readonly pods: LabelSelector;

  /** `namespaces`: the name of the only one, or which. */
  constructor(namespaces: string | { selector: LabelSelector }, pods: LabelSelector) {
    this.#namespaces = namespaces;
    this.pods = pods;
  }

  selects(...[pod, namespace]: Parameters<Subject['selects']>): ReturnType<Subject['selects']> {
    // Policies are found by their Namespace, so its name was compared before.
    if (typeof this.#namespaces === 'string') return selects(this.pods, pod);
    return both(selects(this.#namespaces.selector, namespace), () => selects(this.pods, pod));
  }

  text(): string {
    if (typeof this.#namespaces === 'string') return `podSelector ${selectorText(this.pods)}`;
    const namespaces = `namespaces ${selectorText(this.#namespaces.selector)}`;
    return this.pods.length === 0 ? namespaces : `${namespaces}, pods ${selectorText(this.pods)}`;
  }
}

/** A clause that may match, where there is no such field in the API. `what`: `a port`. */
export function strangeClause(what: string, object: Json, fields: Fields): Clause | undefined {
  const strange = strangeField(object, fields);
  return strange === undefined ? undefined : unusable(`${what} has the unknown field ${strange}`);
}

/** The same as the alternatives of a group. */
export function strangeClauses(...asked: Parameters<typeof strangeClause>): Clause[] {
  const clause = strangeClause(...asked);
  return clause === undefined ? [] : [clause];
}

/** A policy that may do anything, in its tier, to the Pods of its Namespace, or of all: its kind or version is not evaluated, or it is broken. */
export function unknownPolicy(object: Json, tier: string, reason: string): Policy {
  const ref = refOf(object);
  const why = `what ${nameOf(ref)} says: ${reason}`;
  return {
    ref,
    tier,
    order: -Infinity,
    subject: { selects: () => why, text: () => `(${reason})` },
    rules: unknownRules(why),
    changed: changedOf(object),
  };
}

/** Stands for all policies of an API whose server does not answer. */
export function awayPolicy(apiVersion: string): Policy {
  const object = { apiVersion, kind: 'policies', metadata: { name: '(any)' } };
  return unknownPolicy(object, anyTier, `the server of ${apiVersion} is away`);
}

/** Rules that may do anything; `why` is the missing fact. */
export function unknownRules(why: string): Policy['rules'] {
  const rules = anyAction('rules', why);
  return { ingress: rules, egress: rules };
}

/** A rule of which it is not known which of all actions it takes, and whether it takes it. */
export function anyAction(field: string, why: string): Rule[] {
  return (['admit', 'deny', 'pass'] as const).map((action) => rule(action, [[field, [unusable(why)]]]));
}

/** `NetworkPolicy shop/default-deny`. */
export function nameOf({ kind, namespace, name }: PolicyRef): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** A field without alternatives restricts nothing. */
export function rule(
  action: Action,
  fields: readonly (readonly [field: string, alternatives: readonly Clause[]])[],
): Rule {
  // The last step gives lists without room for more: there may be ten thousand policies.
  const groups = fields
    .filter(([, { length }]) => length > 0)
    .map(([field, alternatives]) => ({ field, alternatives }));
  return { action, groups };
}
