import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseSelector,
  type Selector,
  SelectorError,
  matchesSelector as selectsBy,
} from '../../../../src/explain/policies/calico/selector.ts';
import type { MatchResult } from '../../../../src/explain/policies/policies.ts';
import { judges, readJudge, whereJudgesAre } from '../judges.ts';
import { forAll } from '../../../for-all.ts';

const tables: { selectors: [string, string, Record<string, string>, boolean][] } = {
  // Selectors that Calico parses: a title, the selector, labels, and whether it selects them.
  selectors: [
    ['the empty selector is all()', '', {}, true],
    ['only spaces are all()', ' \t ', {}, true],
    ['&& binds closer than ||', 'a == "1" || b == "2" && c == "3"', { a: '1' }, true],
    ['parentheses go over the order', '(a == "1" || b == "2") && c == "3"', { a: '1' }, false],
    ['two negations cancel out', '!!has(a)', { a: '' }, true],
    ['!= matches where the label is missing', 'a != "b"', {}, true],
    ['not in matches where the label is missing', 'a not in {"b"}', {}, true],
    ['!has matches where the label is missing', '!has(a)', {}, true],
    ['an empty set selects nothing', 'a in {}', { a: '' }, false],
    ['a set may end with a comma', 'a in {"x",}', { a: 'x' }, true],
    ['words of an operator may touch', 'a startswith "x"', { a: 'xy' }, true],
    ['an operator is a name where a label stands', 'in == "x"', { in: 'x' }, true],
    ['a label may be named as a property that every object has', 'has(toString)', {}, false],
    ['a backslash is no escape', String.raw`a == "\"`, { a: '\\' }, true],
  ],
};

function selects(selector: Selector, labels: Readonly<Record<string, string>>): MatchResult {
  return selectsBy(selector, (key) => (Object.hasOwn(labels, key) ? labels[key] : undefined));
}

interface Suite {
  selectors: { selector: string; matches: Record<string, string>[]; nonMatches: Record<string, string>[] }[];
  bad: string[];
  canonical: { input: string; canonical: string }[];
}

test.skipIf(judges === undefined)(`agrees with Calico's own cases for its parser${whereJudgesAre}`, () => {
  const suite = JSON.parse(readJudge('calico-selectors.json')) as Suite;
  let cases = 0;
  for (const { selector, matches, nonMatches } of suite.selectors) {
    const parsed = parseSelector(selector);
    for (const labels of matches) expect(selects(parsed, labels), `${selector} ${JSON.stringify(labels)}`).toBe(true);
    for (const labels of nonMatches)
      expect(selects(parsed, labels), `${selector} ${JSON.stringify(labels)}`).toBe(false);
    cases += matches.length + nonMatches.length;
  }
  expect(suite.bad.filter((selector) => isSelector(selector))).toEqual([]);
  for (const { input, canonical } of suite.canonical) expect(canonicalSelector(parseSelector(input))).toBe(canonical);
  expect(cases + suite.bad.length + suite.canonical.length).toBe(141);
});

test.each(tables.selectors)('parses what Calico parses: %s', (_title, selector, labels, expected) => {
  expect(selects(parseSelector(selector), labels)).toBe(expected);
});

function isSelector(text: string): boolean {
  try {
    parseSelector(text);
    return true;
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}

const word = fc.constantFrom('a', 'b', 'projectcalico.org/name');
const value = fc.constantFrom('', 'x', 'xy', '"');
const selector = fc.letrec<{ node: Selector }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.record({ kind: fc.constantFrom('all' as const, 'global' as const) }),
    fc.record({ kind: fc.constant('has' as const), label: word }),
    fc.record({
      kind: fc.constantFrom(...(['==', '!=', 'contains', 'starts with', 'ends with'] as const)),
      label: word,
      value,
    }),
    fc.record({
      kind: fc.constantFrom('in' as const, 'not in' as const),
      label: word,
      values: fc.uniqueArray(value).map((values) => values.toSorted()),
    }),
    fc.record({ kind: fc.constant('not' as const), operand: tie('node') }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      operands: fc.array(tie('node'), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).node;

test('the canonical text of a selector means the same and is canonical', () => {
  forAll([selector, fc.dictionary(word, value)], {}, (parsed, labels) => {
    const text = canonicalSelector(parsed);
    const again = parseSelector(text);
    expect(selects(again, labels)).toBe(selects(parsed, labels));
    expect(canonicalSelector(again)).toBe(canonicalSelector(parseSelector(canonicalSelector(again))));
  });
});

test('the parser throws only SelectorErrors, whatever the text', () => {
  const token = fc.constantFrom(' ', ...`( ) ! != == && || a "x" ' { } , in not has( all( \0`.split(' '));
  forAll([fc.array(token).map((parts) => parts.join(''))], {}, (text) => {
    try {
      parseSelector(text);
    } catch (error) {
      expect(error).toBeInstanceOf(SelectorError);
    }
  });
});

/** The selector as Calico prints it. */
function canonicalSelector(parsed: Selector): string {
  switch (parsed.kind) {
    case 'all':
    case 'global':
      return `${parsed.kind}()`;
    case 'has':
      return `has(${parsed.label})`;
    case 'not':
      return `!${canonicalSelector(parsed.operand)}`;
    case 'and':
    case 'or':
      return `(${parsed.operands.map(canonicalSelector).join(parsed.kind === 'and' ? ' && ' : ' || ')})`;
    case 'in':
    case 'not in':
      return `${parsed.label} ${parsed.kind} {${parsed.values.toSorted(byBytes).map(quoted).join(', ')}}`;
    default:
      return `${parsed.label} ${parsed.kind} ${quoted(parsed.value)}`;
  }
}

function quoted(text: string): string {
  return text.includes('"') ? `'${text}'` : `"${text}"`;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
