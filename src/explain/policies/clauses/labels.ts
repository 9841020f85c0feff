/** LabelSelectors of Kubernetes (apimachinery/pkg/apis/meta/v1), compiled once. */
import type { NamedObject } from '../../../base/model/readers.ts';
import { at, type Json, list } from '../../../base/platform/json.ts';
import type { LabelOf } from '../calico/selector.ts';
import { type Labels, type MatchResult, type Namespace, type PolicyPod, Unknown } from '../model.ts';

export interface Requirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** All requirements must hold. What an invalid selector selects is unknown. */
export type LabelSelector = readonly Requirement[] | Unknown;

/** Never throws. */
export function readSelector(value: Json): LabelSelector {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Unknown('a selector is not an object');
  const strange = Object.keys(value).find((key) => key !== 'matchLabels' && key !== 'matchExpressions');
  if (strange !== undefined) return new Unknown(`a selector has the unknown field ${strange}`);
  const requirements: Requirement[] = [];
  for (const [key, wanted] of Object.entries(at(value, 'matchLabels') ?? {})) {
    if (typeof wanted !== 'string') return new Unknown(`the label ${key} of a selector is not text`);
    requirements.push({ key, operator: 'In', values: [wanted] });
  }
  for (const each of list(at(value, 'matchExpressions'))) {
    const read = readExpression(each);
    if (read instanceof Unknown) return read;
    requirements.push(read);
  }
  return requirements;
}

function readExpression(expression: Json): Requirement | Unknown {
  const [key, operator, values] = [at(expression, 'key'), at(expression, 'operator'), list(at(expression, 'values'))];
  if (typeof key !== 'string' || key === '') return new Unknown('an expression of a selector names no label');
  if (!values.every((each) => typeof each === 'string')) return new Unknown(`a value for the label ${key} is not text`);
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) return new Unknown(`the operator ${operator} on the label ${key} has no values`);
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) return new Unknown(`the operator ${operator} on the label ${key} has values`);
      break;
    default:
      return new Unknown(`the label ${key} is compared with an unknown operator`);
  }
  return { key, operator, values };
}

export function selects(selector: LabelSelector, set: LabelSet): MatchResult {
  if (selector instanceof Unknown) return selector;
  let result: MatchResult = true;
  for (const requirement of selector) {
    const match = holds(requirement, set);
    if (match === false) return false;
    if (match !== true) result = match;
  }
  return result;
}

function holds({ key, operator, values }: Requirement, { labels, complete, owner }: LabelSet): MatchResult {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if (value === undefined && !complete) return new Unknown(`labels of ${owner}`);
  const isOneOf = value !== undefined && values.includes(value);
  switch (operator) {
    case 'In':
      return isOneOf;
    case 'NotIn':
      return !isOneOf;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return operator satisfies never;
  }
}

/** Writes a selector as kubectl does: `app=web,tier in (a,b),!x`; `{}` selects everything. */
export function selectorText(selector: LabelSelector): string {
  if (selector instanceof Unknown) return `(${selector.missing})`;
  return selector.map(requirementText).join(',') || '{}';
}

function requirementText({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return operator satisfies never;
  }
}

/** Describes the labels that do not match the selector: `has app=worker, has no label tier`; '' for a selector that cannot be read. */
export function differences(selector: LabelSelector, set: LabelSet): string {
  if (selector instanceof Unknown) return '';
  const failing = selector.filter((requirement) => holds(requirement, set) === false);
  return failing
    .map(({ key }) => `has ${Object.hasOwn(set.labels, key) ? `${key}=${set.labels[key]}` : `no label ${key}`}`)
    .join(', ');
}

export interface LabelSet {
  readonly labels: Labels;
  /** False if there may be more labels. */
  readonly complete: boolean;
  /** `Namespace batch`, `Pod batch/worker-7`. */
  readonly owner: string;
}

/** A Pod or a network set, as Calico's selectors see it. */
export interface LabelledEndpoint {
  readonly labelOf: LabelOf;
  /** `Pod shop/web-0`, `GlobalNetworkSet office`. */
  readonly name: string;
  readonly object: NamedObject;
}

export type NamespaceLabels = (name: string) => LabelSet;

/** The label that the API server gives each Namespace. */
export const namespaceNameLabel = 'kubernetes.io/metadata.name';

/** If a Namespace is not listed, only its name is known. */
export function createNamespaces(namespaces: Iterable<Namespace>): NamespaceLabels {
  const known = new Map<string, LabelSet>();
  for (const each of namespaces) known.set(each.name, labelSetOf(each));
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const unknown = { labels: { [namespaceNameLabel]: name }, complete: false, owner: `Namespace ${name}` };
    known.set(name, unknown);
    return unknown;
  };
}

/** Keeps one label set for each Namespace object, so that caches keyed by it also work for the next evaluator. */
const made = new WeakMap<Namespace, LabelSet>();

function labelSetOf(namespace: Namespace): LabelSet {
  const { name, labels } = namespace;
  const found = made.get(namespace) ?? {
    labels: { ...labels, [namespaceNameLabel]: name },
    complete: true,
    owner: `Namespace ${name}`,
  };
  made.set(namespace, found);
  return found;
}

/** Keeps the label set of each Pod object, because every clause of every rule asks for it. */
const ofPods = new WeakMap<PolicyPod, LabelSet>();

export function podLabels(pod: PolicyPod): LabelSet {
  let found = ofPods.get(pod);
  if (found === undefined) {
    const { namespace, name, labels } = pod;
    found = { labels: labels ?? {}, complete: labels !== undefined, owner: `Pod ${namespace}/${name}` };
    ofPods.set(pod, found);
  }
  return found;
}

/** The objects whose labels clauses about a Pod show. */
export function aboutPod({ namespace }: Pick<PolicyPod, 'namespace'>): readonly NamedObject[] {
  return [
    { kind: 'Pod', namespace },
    { kind: 'Namespace', namespace },
  ];
}

/** `has app=worker, has no label tier` → `app=worker, without label tier`. */
export function wordsOf(differing: string): string {
  return differing.replaceAll('has no label ', 'without label ').replaceAll('has ', '');
}

/** Returns the only Namespace that the selector can select, if it names one. */
export function onlyName(selector: LabelSelector): string | undefined {
  if (selector instanceof Unknown || selector.length !== 1) return undefined;
  const [{ key, operator, values } = {}] = selector as readonly Partial<Requirement>[];
  return key === namespaceNameLabel && operator === 'In' && values?.length === 1 ? values[0] : undefined;
}
