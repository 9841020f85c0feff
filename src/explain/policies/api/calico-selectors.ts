/** Combines the selectors of one policy, or of one end of a rule (libcalico-go/lib/backend/syncersv1/updateprocessors). */
import { at, type Json, list, shown, text } from '../../../base/platform/json.ts';
import { namespaceLabel, namespacePrefix, serviceAccountLabel, serviceAccountPrefix } from '../calico/endpoint.ts';
import { Unknown } from '../model.ts';
import { parseSelector, type Selector, SelectorError, withPrefix } from '../calico/selector.ts';

function parsedSelector(value: Json): Selector | Unknown | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return new Unknown('a selector is not text');
  try {
    return parseSelector(value);
  } catch (error) {
    if (error instanceof SelectorError) return new Unknown(`a selector is broken: ${error.message}`);
    throw error;
  }
}

function all(selectors: readonly (Selector | Unknown | undefined)[]): Selector | Unknown | undefined {
  const broken = selectors.find((each) => each instanceof Unknown);
  if (broken !== undefined) return broken;
  const operands = selectors.filter((each): each is Selector => each !== undefined);
  return operands.length < 2 ? operands[0] : { kind: 'and', operands };
}

function prefixed(
  selector: Selector | Unknown | undefined,
  prefix: string,
  whole?: Selector,
  none?: Selector,
): Selector | Unknown | undefined {
  return selector === undefined || selector instanceof Unknown ? selector : withPrefix(selector, prefix, whole, none);
}

const inNamespace: Selector = { kind: 'has', label: namespaceLabel };
const withAccount: Selector = { kind: 'has', label: serviceAccountLabel };

function ofNamespace(namespace: string): Selector {
  return { kind: '==', label: namespaceLabel, value: namespace };
}

/** Without `namespace` the policy is global. */
export function subjectSelector(
  spec: Json,
  namespace: string | undefined,
): { selector: Selector | Unknown; text: string } {
  const namespaces = parsedSelector(at(spec, 'namespaceSelector'));
  const accounts = parsedSelector(at(spec, 'serviceAccountSelector'));
  const selector = all([
    namespace === undefined ? prefixed(namespaces, namespacePrefix, inNamespace) : ofNamespace(namespace),
    prefixed(accounts, serviceAccountPrefix, namespace === undefined ? withAccount : undefined),
    parsedSelector(at(spec, 'selector')),
  ]);
  const texts = textsOf(spec, namespace === undefined ? ['selector', 'namespaceSelector'] : ['selector']);
  const account = text(at(spec, 'serviceAccountSelector'));
  if (account !== undefined) texts.push(`serviceAccountSelector ${account}`);
  return { selector: selector ?? { kind: 'all' }, text: texts.join(', ') || 'selector all()' };
}

/** Undefined: any address. A namespaced policy's rule is confined to its Namespace, unless it has a namespaceSelector or no selector. */
export function entitySelector(
  entity: Json,
  namespace: string | undefined,
): { selector: Selector | Unknown | undefined; notSelector: Selector | Unknown | undefined; text: string } {
  const given = parsedSelector(at(entity, 'selector'));
  const notSelector = parsedSelector(at(entity, 'notSelector'));
  const namespaces = parsedSelector(at(entity, 'namespaceSelector'));
  const accounts = accountSelector(at(entity, 'serviceAccounts'));
  if ([given, namespaces, accounts, notSelector].every((each) => each === undefined))
    return { selector: undefined, notSelector: undefined, text: '' };
  const confined =
    namespaces === undefined
      ? namespace === undefined
        ? undefined
        : ofNamespace(namespace)
      : prefixed(namespaces, namespacePrefix, inNamespace, { kind: 'not', operand: inNamespace });
  const texts = textsOf(entity, ['selector', 'namespaceSelector']);
  const names = list(at(entity, 'serviceAccounts', 'names')).map(shown);
  if (names.length > 0) texts.push(`serviceAccounts ${names.join(', ')}`);
  const account = text(at(entity, 'serviceAccounts', 'selector'));
  if (account !== undefined) texts.push(`serviceAccounts ${account}`);
  const where = namespaces === undefined && namespace !== undefined ? ` in Namespace ${namespace}` : '';
  const positive = all([confined, accounts, given]);
  const not =
    notSelector === undefined || notSelector instanceof Unknown
      ? notSelector
      : { kind: 'not' as const, operand: notSelector };
  return {
    // A single Pod or network set must match both selectors. A notSelector alone must match none with that address (rule_scanner.go).
    selector: positive === undefined ? undefined : all([positive, not]),
    notSelector: positive === undefined ? notSelector : undefined,
    text: `${[...texts, ...(positive === undefined ? [] : textsOf(entity, ['notSelector']))].join(', ') || 'selector all()'}${where}`,
  };
}

function accountSelector(accounts: Json): Selector | Unknown | undefined {
  const names = list(at(accounts, 'names'));
  if (!names.every((each) => typeof each === 'string')) return new Unknown('the name of a ServiceAccount is not text');
  const named: Selector | undefined =
    names.length === 0 ? undefined : { kind: 'in', label: serviceAccountLabel, values: names };
  return all([named, prefixed(parsedSelector(at(accounts, 'selector')), serviceAccountPrefix)]);
}

function textsOf(object: Json, fields: readonly string[]): string[] {
  return fields.flatMap((field) => {
    const value = text(at(object, field));
    return value === undefined ? [] : [`${field} ${value}`];
  });
}
