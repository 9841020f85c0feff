/** Reads selectors of Calico (libcalico-go/lib/selector): `app == "web" && !has(x)`. `!=` and `not in` also match if the label is absent. */
import { allOf, anyOf, type MatchResult, not, Unknown } from '../model.ts';

export type Selector =
  | { readonly kind: 'all' | 'global' }
  | { readonly kind: 'has'; readonly label: string }
  | { readonly kind: Comparison; readonly label: string; readonly value: string }
  | { readonly kind: 'in' | 'not in'; readonly label: string; readonly values: readonly string[] }
  | { readonly kind: 'not'; readonly operand: Selector }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Selector[] };

type Comparison = '==' | '!=' | 'contains' | 'starts with' | 'ends with';

/** Limits the nesting of parentheses, because each level takes stack, and tenants write selectors. */
const deepest = 200;

/** Throws a `SelectorError` if the selector is invalid or nested too deeply. */
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
    return [...values];
  }
}

/** The value of a label; undefined if the object does not have it. */
export type Label = string | undefined | Unknown;
export type LabelOf = (key: string) => Label;

/** `global()` is true here; where it means "in no Namespace", `withPrefix` has replaced it. */
export function matchesSelector(selector: Selector, labelOf: LabelOf): MatchResult {
  switch (selector.kind) {
    case 'all':
    case 'global':
      return true;
    case 'not':
      return not(matchesSelector(selector.operand, labelOf));
    case 'and':
      return allOf(selector.operands, (operand) => matchesSelector(operand, labelOf));
    case 'or':
      return anyOf(selector.operands, (operand) => matchesSelector(operand, labelOf));
    default: {
      const label = labelOf(selector.label);
      return label instanceof Unknown ? label : matches(selector, label);
    }
  }
}

/** The number of comparisons in a selector; each value of a list is one. */
export function sizeOf(selector: Selector): number {
  if (selector.kind === 'not') return sizeOf(selector.operand);
  if (selector.kind === 'and' || selector.kind === 'or')
    return selector.operands.reduce((sum, each) => sum + sizeOf(each), 1);
  return 'values' in selector ? selector.values.length + 1 : 1;
}

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

/** Adds the prefix to all labels, and replaces `all()` and `global()` by the given selectors, if any. */
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

export class SelectorError extends Error {
  override name = 'SelectorError';
}

/** Reads a selector from left to right, and skips the white space after each token. Throws a `SelectorError`. */
function createSelectorTokens(text: string) {
  let at = 0;
  skipSpace();

  return {
    isAtEnd: (): boolean => at === text.length,
    take,
    takeWords,
    expect,
    literal,
    identifier,
    problem,
  };

  function take(token: string): boolean {
    if (!text.startsWith(token, at)) return false;
    // `!=` is an operator after a label, never a negation.
    if (token === '!' && text[at + 1] === '=') return false;
    at += token.length;
    skipSpace();
    return true;
  }

  /** Calico needs no space between the words of an operator: `startswith` means `starts with`. */
  function takeWords(operator: string): boolean {
    const before = at;
    for (const word of operator.split(' ')) {
      if (take(word)) continue;
      at = before;
      return false;
    }
    return true;
  }

  function expect(token: string): void {
    if (!take(token)) throw problem(`"${token}"`);
  }

  /** A text has no escapes, so it never contains both kinds of quotes. */
  function literal(): string {
    const quote = text[at];
    if (quote !== '"' && quote !== "'") throw problem('a text in quotes');
    const end = text.indexOf(quote, at + 1);
    if (end < 0) throw problem('the end of the text in quotes');
    const value = text.slice(at + 1, end);
    at = end + 1;
    skipSpace();
    return value;
  }

  function identifier(): string {
    const label = /[a-zA-Z0-9_./-]{1,513}/y;
    label.lastIndex = at;
    const found = label.exec(text)?.[0];
    if (found === undefined || found.length > 512) throw problem('the name of a label');
    at += found.length;
    skipSpace();
    return found;
  }

  function skipSpace(): void {
    while (text[at] === ' ' || text[at] === '\t') at += 1;
  }

  function problem(wanted: string): SelectorError {
    const found = at < text.length ? JSON.stringify(text.slice(at, at + 20)) : 'its end';
    return new SelectorError(`at character ${at + 1}: ${found} stands where ${wanted} was expected`);
  }
}
