/**
 * Selectors as Calico's policies write them: `app == "web" && tier in {"a", "b"}`. The grammar is that of
 * libcalico-go/lib/selector; `!has(x)`, `!=` and `not in` match where the label is missing.
 */
import type { Match } from '../model.ts';
import { createSelectorTokens, SelectorError } from './selector-tokens.ts';
import { allOf, anyOf, not } from '../match.ts';

/** A parsed selector: plain data, so that who reads it can name the part that failed. */
export type Selector =
  | { readonly kind: 'all' | 'global' }
  | { readonly kind: 'has'; readonly label: string }
  | { readonly kind: Comparison; readonly label: string; readonly value: string }
  | { readonly kind: 'in' | 'not in'; readonly label: string; readonly values: readonly string[] }
  | { readonly kind: 'not'; readonly operand: Selector }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Selector[] };

type Comparison = '==' | '!=' | 'contains' | 'starts with' | 'ends with';

/** Parentheses: each level takes a part of the stack, and who writes a selector is a stranger. */
const deepest = 200;

/** Throws a `SelectorError`. The empty selector is `all()`. */
export function parseSelector(text: string): Selector {
  const tokens = createSelectorTokens(text);
  const { take, takeWords, expect, literal, problem } = tokens;
  let depth = 0;
  if (tokens.isAtEnd()) return { kind: 'all' };
  const selector = parseOr();
  if (!tokens.isAtEnd()) throw problem('the end of the selector');
  return selector;

  function parseOr(): Selector {
    return joined('or', '||', () => joined('and', '&&', parseOperation));
  }

  function joined(kind: 'and' | 'or', operator: string, next: () => Selector): Selector {
    const operands = [next()];
    while (take(operator)) operands.push(next());
    return operands.length === 1 ? (operands[0] as Selector) : { kind, operands };
  }

  function parseOperation(): Selector {
    let negated = false;
    while (take('!')) negated = !negated;
    const operand = parseOperand();
    return negated ? { kind: 'not', operand } : operand;
  }

  function parseOperand(): Selector {
    if (take('(')) return parseGroup();
    if (take('has(')) {
      const label = tokens.identifier();
      expect(')');
      return { kind: 'has', label };
    }
    for (const kind of ['all', 'global'] as const) {
      if (!take(`${kind}(`)) continue;
      expect(')');
      return { kind };
    }
    return parseComparison(tokens.identifier());
  }

  function parseGroup(): Selector {
    depth += 1;
    if (depth > deepest) throw new SelectorError(`more than ${deepest} parentheses inside each other`);
    const inner = parseOr();
    expect(')');
    depth -= 1;
    return inner;
  }

  function parseComparison(label: string): Selector {
    for (const kind of ['==', '!=', 'contains'] as const) if (take(kind)) return { kind, label, value: literal() };
    for (const kind of ['starts with', 'ends with'] as const)
      if (takeWords(kind)) return { kind, label, value: literal() };
    for (const kind of ['in', 'not in'] as const) if (takeWords(kind)) return { kind, label, values: set() };
    throw problem('an operator');
  }

  function set(): string[] {
    expect('{');
    const values = new Set<string>();
    while (!take('}')) {
      values.add(literal());
      if (take(',')) continue;
      expect('}');
      break;
    }
    return [...values].toSorted(byBytes);
  }
}

/** The value of a label; undefined: there is none; `missing` names the fact that is not known. */
export type Label = string | undefined | { readonly missing: string };
export type LabelOf = (key: string) => Label;

/** Whether an object with these labels is selected. `global()` is always true: in a rule it means "in no namespace". */
export function selects(selector: Selector, labelOf: LabelOf): Match {
  switch (selector.kind) {
    case 'all':
    case 'global':
      return true;
    case 'not':
      return not(selects(selector.operand, labelOf));
    case 'and':
      return allOf(selector.operands, (operand) => selects(operand, labelOf));
    case 'or':
      return anyOf(selector.operands, (operand) => selects(operand, labelOf));
    default: {
      const label = labelOf(selector.label);
      return typeof label === 'object' ? label.missing : matches(selector, label);
    }
  }
}

/** Labels that a selector asks for, each once. */
export function labelsIn(selector: Selector): string[] {
  const found = new Set<string>();
  collect(selector, found);
  return [...found];
}

function collect(selector: Selector, found: Set<string>): void {
  if (selector.kind === 'not') collect(selector.operand, found);
  else if (selector.kind === 'and' || selector.kind === 'or')
    for (const each of selector.operands) collect(each, found);
  else if ('label' in selector) found.add(selector.label);
}

/** The same selector of labels that have the prefix; `all` and `global`: what stands for those two. */
export function withPrefix(selector: Selector, prefix: string, all?: Selector, global?: Selector): Selector {
  switch (selector.kind) {
    case 'all':
      return all ?? selector;
    case 'global':
      return global ?? selector;
    case 'not':
      return { ...selector, operand: withPrefix(selector.operand, prefix, all, global) };
    case 'and':
    case 'or':
      return { ...selector, operands: selector.operands.map((each) => withPrefix(each, prefix, all, global)) };
    default:
      return { ...selector, label: prefix + selector.label };
  }
}

function matches(
  selector: Exclude<Selector, { kind: 'all' | 'global' | 'not' | 'and' | 'or' }>,
  value: string | undefined,
): boolean {
  switch (selector.kind) {
    case 'has':
      return value !== undefined;
    case '==':
      return value === selector.value;
    case '!=':
      return value !== selector.value;
    case 'contains':
      return value?.includes(selector.value) ?? false;
    case 'starts with':
      return value?.startsWith(selector.value) ?? false;
    case 'ends with':
      return value?.endsWith(selector.value) ?? false;
    case 'in':
      return value !== undefined && selector.values.includes(value);
    case 'not in':
      return value === undefined || !selector.values.includes(value);
    default:
      return selector satisfies never;
  }
}

/** The selector as Calico prints it: what names of ipsets and chains are computed from. */
export function canonicalSelector(selector: Selector): string {
  switch (selector.kind) {
    case 'all':
    case 'global':
      return `${selector.kind}()`;
    case 'has':
      return `has(${selector.label})`;
    case 'not':
      return `!${canonicalSelector(selector.operand)}`;
    case 'and':
    case 'or':
      return `(${selector.operands.map(canonicalSelector).join(selector.kind === 'and' ? ' && ' : ' || ')})`;
    case 'in':
    case 'not in':
      return `${selector.label} ${selector.kind} {${selector.values.map(quoted).join(', ')}}`;
    default:
      return `${selector.label} ${selector.kind} ${quoted(selector.value)}`;
  }
}

function quoted(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
