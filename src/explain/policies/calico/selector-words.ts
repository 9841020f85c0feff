/** Says in the words of an Event which ends a rule's selector selects (`endpoints app=web in shop`), and what another end is (`is app=worker in batch`). */
import type { LabelledEndpoint } from '../clauses/labels.ts';
import { namespaceNameLabel } from '../clauses/labels.ts';
import { Unknown } from '../model.ts';
import type { ClauseWords } from '../words.ts';
import { nameLabel, namespaceLabel, namespacePrefix, serviceAccountLabel, serviceAccountPrefix } from './endpoint.ts';
import { type Label, type Selector, matchesSelector } from './selector.ts';

/** All other operators keep the text of the API, which is exact and not much longer. */
type Condition =
  | { readonly kind: 'has'; readonly label: string }
  | { readonly kind: '=='; readonly label: string; readonly value: string }
  | { readonly kind: 'in'; readonly label: string; readonly values: readonly string[] };

/** Returns undefined if the selector has no short form. `otherwise` is said of an end for which no single condition fails. */
export function selectorWords(
  selector: Selector,
  endpoint: LabelledEndpoint | undefined,
  otherwise: string,
): ClauseWords | undefined {
  const operands = operandsOf(selector).filter(({ kind }) => kind !== 'all');
  const conditions = operands.filter(isShort);
  if (conditions.length < operands.length) return undefined;
  const allows = ['endpoints', ...allowedParts(conditions)].join(' ');
  if (endpoint === undefined) return { allows, is: otherwise };
  const failing = conditions.filter((each) => matchesSelector(each, endpoint.labelOf) === false);
  return { allows, is: failing.length === 0 ? otherwise : ['is', ...failedParts(failing, endpoint)].join(' ') };
}

function operandsOf(selector: Selector): readonly Selector[] {
  return selector.kind === 'and' ? selector.operands.flatMap(operandsOf) : [selector];
}

function isShort(selector: Selector): selector is Condition {
  const { kind } = selector;
  return (kind === 'has' || kind === '==' || kind === 'in') && !selector.label.startsWith(serviceAccountPrefix);
}

function allowedParts(conditions: readonly Condition[]): string[] {
  const { own, names, labels, accounts } = sorted(conditions);
  const named = names.flatMap((each) => (each.kind === 'has' ? [] : valuesOf(each).join(' or ')));
  const inNamespaces = labels.length === 0 ? [] : [`in namespaces ${labels.map(textOf).join(',')}`];
  const inAny = names.length > 0 && named.length === 0 && labels.length === 0 ? ['in any namespace'] : [];
  return [
    ...(own.length === 0 ? [] : [own.map(textOf).join(',')]),
    ...named.map((name) => `in ${name}`),
    ...inNamespaces,
    ...inAny,
    ...accounts.map((each) =>
      `with ${each.kind === 'has' ? 'a' : 'the'} ServiceAccount ${valuesOf(each).join(' or ')}`.trim(),
    ),
  ];
}

function failedParts(failing: readonly Condition[], { labelOf }: LabelledEndpoint): string[] {
  const { own, names, labels, accounts } = sorted(failing);
  const shown = (each: Condition): string => labelText(labelOf(each.label), bare(each));
  const which = labels.length === 0 ? '' : ` (${labels.map(shown).join(', ')})`;
  const namespace = textOfLabel(labelOf(namespaceLabel));
  const account = textOfLabel(labelOf(serviceAccountLabel));
  return [
    ...(own.length === 0 ? [] : [own.map(shown).join(', ')]),
    ...(names.length + labels.length === 0 ? [] : [`in ${namespace ?? 'no namespace'}${which}`]),
    ...(accounts.length === 0
      ? []
      : [account === undefined ? 'without a ServiceAccount' : `with the ServiceAccount ${account}`]),
  ];
}

/** `names`: conditions on the name of the Namespace; `labels`: on its labels. */
function sorted(
  conditions: readonly Condition[],
): Readonly<Record<'own' | 'names' | 'labels' | 'accounts', readonly Condition[]>> {
  const kinds = Map.groupBy(conditions, ({ label }) => {
    if (label === namespaceLabel) return 'names';
    if (label === serviceAccountLabel) return 'accounts';
    if (!label.startsWith(namespacePrefix)) return 'own';
    return [nameLabel, namespaceNameLabel].includes(label.slice(namespacePrefix.length)) ? 'names' : 'labels';
  });
  const of = (kind: 'own' | 'names' | 'labels' | 'accounts'): readonly Condition[] => kinds.get(kind) ?? [];
  return { own: of('own'), names: of('names'), labels: of('labels'), accounts: of('accounts') };
}

function valuesOf(condition: Condition): readonly string[] {
  if (condition.kind === 'has') return [];
  return condition.kind === '==' ? [condition.value] : condition.values;
}

function bare({ label }: Condition): string {
  return label.startsWith(namespacePrefix) ? label.slice(namespacePrefix.length) : label;
}

function textOf(condition: Condition): string {
  const label = bare(condition);
  if (condition.kind === 'has') return label;
  return condition.kind === '==' ? `${label}=${condition.value}` : `${label} in (${condition.values.join(',')})`;
}

function labelText(value: Label, label: string): string {
  return value === undefined ? `without label ${label}` : `${label}=${textOfLabel(value)}`;
}

function textOfLabel(value: Label): string | undefined {
  return value instanceof Unknown ? 'an unknown value' : value;
}
