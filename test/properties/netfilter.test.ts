import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { printedLine } from './arbitraries.ts';
import { mutated, wordSalad } from './mutators.ts';
import { referenceParse, unparsable, type BareObservation } from './reference.ts';
import { runs } from '../runs.ts';
import { forAll } from '../for-all.ts';

const tables: { hostile: Record<string, string> } = {
  // Texts that may be slow to parse if they are repeated, by what they are.
  hostile: {
    'IN= again and again': 'IN=',
    'IN= again and again, each complete': 'IN= ',
    'headers without a packet': 'IN=a OUT=b ',
    'headers of whole packets': 'IN=a OUT= SRC=10.0.0.1 DST=10.0.0.2 PROTO=TCP SPT=1 DPT=2 ',
    'opening brackets': '[',
    'opening brackets that are tokens': '[ ',
    'brackets that open and close': '[SRC=10.0.0.1 ] ',
    'INCOMPLETE without a count': 'INCOMPLETE [',
    spaces: ' ',
    'white space that is no space': '\u00a0\t',
    digits: '9',
    'octets of a MAC': '00:',
    'equals signs': '=',
    'bytes that are no UTF-8': 'æ¼',
    NULs: '\u0000',
    'keys without an end': 'SRC=DST=',
  },
};

const often = { numRuns: runs(5000) };
const prefixes = createPrefixTable();
const line = printedLine.map((printed) => printed.line);

/** Reduces an observation to netfilter's part, without the prefix table and the wording of reasons. */
function bare(observation: ReturnType<typeof parse>): BareObservation {
  if (observation?.kind === 'unparsable') return observation.format === 'netfilter' ? unparsable : undefined;
  if (observation?.kind !== 'packet' || observation.logger !== 'netfilter') return undefined;
  const { verdict: _verdict, prefixRule: _rule, policy: _policy, enforcer: _enforcer, ...rest } = observation;
  return rest;
}

/** A prefix has at most 127 bytes (nftables). If there is longer text before the header, a parser may keep a part. */
function shortened(found: BareObservation, expected: BareObservation): BareObservation {
  const long = expected?.kind === 'packet' && expected.prefix.length > 127;
  return long && found?.kind === 'packet' ? { ...found, prefix: '' } : found;
}

/** Text within JSON is not believed, because the kernel writes none. */
const jsonText = /^\s*[{[]\s*[{"]|"\s*:/;

function agrees(text: string): void {
  const expected = referenceParse(text);
  const parsed = parse(text, prefixes);
  if (parsed?.kind === 'refused') {
    expect(text).toMatch(jsonText);
    return;
  }
  expect(shortened(bare(parsed), expected)).toStrictEqual(shortened(expected, expected));
}

test("the reference parser reads back the kernel's output", () => {
  forAll([printedLine], often, (printed) => {
    expect(referenceParse(printed.line)).toStrictEqual(printed.expected);
  });
});

test("parse agrees with the reference on the kernel's output", () => {
  fc.assert(fc.property(line, agrees), often);
});

test('parse agrees with the reference on damaged lines', () => {
  fc.assert(fc.property(mutated(line), agrees), often);
});

test('parse agrees with the reference on lines damaged after their bytes were learned', () => {
  const bytes = line.map((text) => Buffer.from(text, 'utf8').toString('latin1'));
  fc.assert(fc.property(mutated(bytes), agrees), often);
});

test('parse agrees with the reference on the words of the format in any order', () => {
  fc.assert(fc.property(wordSalad, agrees), often);
});

test('the number of bytes after INCOMPLETE does not end the packet within an ICMP error', () => {
  const error = 'IN=a OUT= SRC=10.0.0.1 DST=10.0.0.2 PROTO=ICMP TYPE=3 CODE=1';
  agrees(`${error} [SRC=10.0.0.2 DST=10.0.0.3 PROTO=ICMP INCOMPLETE [2 bytes] TYPE=8 ] MARK=0x1 `);
});

test('parse agrees with the reference on any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), agrees), often);
});

/** Each would be extremely slow for a parser that reads text again. The test's time limit would show it. */
const hostile: Record<string, string> = tables.hostile;
const beginnings = [
  '',
  'IN=a OUT= ',
  'IN=a OUT= MAC=',
  'IN=a OUT= SRC=10.0.0.1 DST=10.0.0.2 PROTO=ICMP [',
  'IN=a OUT= SRC=',
];
const megabyte = 1_000_000;

test.each(Object.entries(hostile))('parse is total on a megabyte of: %s', (_name, unit) => {
  const filler = unit.repeat(megabyte / unit.length);
  for (const beginning of beginnings) {
    const kinds = [filler, `${beginning}${filler}`, `${filler}${beginning}`].map((text) => parse(text, prefixes)?.kind);
    expect(kinds.every((kind) => [undefined, 'packet', 'unparsable', 'refused'].includes(kind))).toBe(true);
  }
});
