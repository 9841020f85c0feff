import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseProgramRecord } from '../../../../src/read/parsing/components/program-record.ts';
import { forAll } from '../../../for-all.ts';

/** Texts from which generated tests make records of programs. */
const tables: { openings: string[]; pieces: string[] } = {
  // How records of programs begin.
  openings: [
    '',
    'E1121 13:37:46.657104   31530 proxier.go:1406] ',
    'E1121 13:37:46.657104   31530 proxier.go:1406] "m"',
    'E1121 13:37:46.657104   31530 proxier.go:1406] "m" err=',
    '"m" err=',
    '{"ts":1795268266657,"msg":"m"',
    '{"ts":1795268266657,"msg":',
    '2026-11-21 10:00:00.123 [WARNING][56] felix/table.go 654: ',
    '2026-11-21 10:00:00.123 [WARNING][56] felix/table.go 654: m a=',
    'time="x" level=info msg=',
    'bird: ',
    'exit status 1: ',
    'kube-proxy[1]: ',
  ],
  // The possible content of such a record.
  pieces: [
    ' a=',
    ' a="',
    '"',
    '\\',
    String.raw`\"`,
    String.raw`\u12`,
    '(',
    '{',
    '[',
    '()',
    '[a',
    ' ',
    '\t',
    '\n',
    '\n\t',
    '\n    x',
    '\n >',
    '\n > ',
    ' > a',
    ' > a=',
    '<\n',
    '=<\n\t',
    ': ',
    ', err',
    ', error: ',
    'a',
    'a.',
    'a/',
    '0',
    '2026-',
    ' a=b{',
    ' a={',
    ' a=()',
    ' a=(){',
    ' a=*"',
    ' k="x"y',
    ' k="x" y',
    ',"a":',
    ',"a":"',
    ',"a":[',
    ',"a":1',
    '#012',
    'calico/node is not ready: ',
    '\nkube-proxy[1]: ',
    '\ngoroutine',
    '😀',
    '\ud800',
    '“',
    '‹',
    'E1121 ',
  ],
};

/** Quotes as Go's %q does, slowly and obviously. */
function goQuote(text: string): string {
  const named: Record<string, string> = {
    '\n': '\\n',
    '\t': '\\t',
    '\r': '\\r',
    '\v': '\\v',
    '\f': '\\f',
    '\b': '\\b',
    '\x07': '\\a',
  };
  const quoted = Array.from(text, (char) => {
    const rune = char.codePointAt(0) as number;
    if (char === '"' || char === '\\') return `\\${char}`;
    if (named[char] !== undefined) return named[char];
    if (rune < 0x20 || rune === 0x7f) return `\\x${rune.toString(16).padStart(2, '0')}`;
    if (/[\p{L}\p{N}\p{P}\p{S} ]/u.test(char)) return char;
    return rune < 0x10000 ? `\\u${rune.toString(16).padStart(4, '0')}` : `\\U${rune.toString(16).padStart(8, '0')}`;
  });
  return `"${quoted.join('')}"`;
}

/** Writes a string as klog does (internal/serialize, writeStringValue). */
function klogValue(text: string): string {
  if (!text.includes('\n')) return goQuote(text);
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `<\n${lines
    .split('\n')
    .map((line) => `\t${line}\n`)
    .join('')} >`;
}

const hard = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\t',
      ' ',
      '=',
      'a=',
      ' > ',
      '>',
      '<',
      '{',
      '(',
      ')',
      '}',
      '#',
      ': ',
      '`',
      'é',
      '😀',
      '\u2028',
      'x',
    ),
    maxLength: 40,
  }),
);
/** klog does not show whether an error's last line was ended; white space at the end of an error is left out. */
const settled = hard.map((text) => text.trimEnd());
const key = fc.constantFrom('ipFamily', 'table', 'chain.x', 'srcChain', 'a-b', 'ünï');
const fields = fc.uniqueArray(fc.tuple(key, settled), { selector: ([name]) => name, maxLength: 4 });
const asObject = (pairs: [string, string][]): Record<string, string> => Object.fromEntries(pairs);
const header = 'E1121 13:37:46.657104   31530 proxier.go:1406] ';

test('reads back klog text', () => {
  forAll([hard, settled, fields], { numRuns: 1000 }, (message, error, more) => {
    const text = `${header}${goQuote(message)} err=${klogValue(error)}${more.map(([name, value]) => ` ${name}=${klogValue(value)}`).join('')}`;
    const record = parseProgramRecord(text);
    expect(record).toMatchObject({ message, error, caller: 'proxier.go', severity: 'error', program: 'kube-proxy' });
    expect(record?.fields).toStrictEqual({ err: error, ...asObject(more) });
  });
});

test('reads back klog text without structure', () => {
  forAll([fc.stringMatching(/^[A-Z][a-z /-]{0,40}$/), settled], { numRuns: 1000 }, (message, error) => {
    fc.pre(!/, err(or)?: /.test(`${message}: ${error}`) && !/\n(goroutine \d|Rules:)/.test(error));
    expect(parseProgramRecord(`${header}${message}: ${error}`)).toMatchObject({ message, error });
  });
});

test('reads back klog JSON', () => {
  const value = fc.oneof(
    hard,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(hard),
    fc.record({ Name: hard, List: fc.array(hard) }),
  );
  const pairs = fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 4 });
  forAll([hard, hard, pairs], { numRuns: 1000 }, (msg, err, more) => {
    const text = JSON.stringify({
      ts: 1_795_268_266_657.25,
      caller: 'iptables/proxier.go:30',
      msg,
      ...Object.fromEntries(more),
      err,
    });
    const record = parseProgramRecord(text);
    expect(record).toMatchObject({ message: msg, error: err.trimEnd(), caller: 'proxier.go', severity: 'error' });
    const written = more.map(([name, each]): [string, string] => [
      name,
      typeof each === 'string' ? each : JSON.stringify(each),
    ]);
    expect(record?.fields).toStrictEqual({ ...asObject(written), err });
  });
});

/** Calico writes errors unchanged, so text in them that looks like a key cannot be distinguished from one. */
const plain = fc
  .string({ unit: fc.constantFrom('a', 'B', '1', ' ', ':', '.', ',', '/', '(x)', '`', "'", 'é', '😀'), maxLength: 40 })
  .map((text) => `e${text}`.trimEnd());
const message = fc
  .string({ unit: fc.constantFrom('a', 'B', ' ', ':', '.', ' = ', '(k=v; w=x)', '"q r=s"', 'é'), maxLength: 30 })
  .map((text) => `M${text}`.trimEnd());

test("reads back Calico's logrus", () => {
  const names = fc.constantFrom('chainName', 'ipVersion', 'table', '_x', 'a.b');
  const pairs = fc.uniqueArray(fc.tuple(names, hard), { selector: ([name]) => name, maxLength: 4 });
  forAll([message, plain, hard, pairs], { numRuns: 1000 }, (words, error, errorOutput, more) => {
    const values = more.map(([name, value]) => ` ${name}=${goQuote(value)}`).join('');
    const text = `2026-11-21 10:00:00.123 [WARNING][56] felix/table.go 654: ${words} error=${error} errorOutput=${goQuote(errorOutput)}${values}`;
    const record = parseProgramRecord(text);
    expect(record).toMatchObject({ message: words, program: 'felix', severity: 'warning' });
    expect(record?.fields).toStrictEqual({ error, errorOutput, ...asObject(more) });
    expect(record?.error).toBe(errorOutput.trimEnd() === '' ? error : `${error}\n${errorOutput.trimEnd()}`);
  });
});

/** Writes a value as logrus' TextFormatter does (needsQuoting). */
function logrusValue(text: string): string {
  return /^[\w./@^+-]*$/.test(text) ? text : goQuote(text);
}

test('reads back logrus without a terminal', () => {
  forAll([fc.constantFrom('debug', 'info', 'error'), hard, fields], { numRuns: 500 }, (level, msg, more) => {
    fc.pre(msg !== '');
    const values = more.map(([name, value]) => ` ${name.replaceAll(/[^\w]/g, '_')}=${logrusValue(value)}`).join('');
    const record = parseProgramRecord(`time="2026-11-21T13:37:46Z" level=${level} msg=${logrusValue(msg)}${values}`);
    expect(record).toMatchObject({ message: msg, severity: level });
    expect(record?.fields).toStrictEqual(
      asObject(more.map(([name, value]) => [name.replaceAll(/[^\w]/g, '_'), value])),
    );
  });
});

const openings = tables.openings;
const pieces = tables.pieces;

test('never throws and keeps to its limits, whatever is written', () => {
  const text = fc.tuple(
    fc.constantFrom(...openings),
    fc.string({ unit: fc.oneof(fc.constantFrom(...pieces), fc.string()), maxLength: 60 }),
  );
  forAll([text], { numRuns: 3000 }, ([head, rest]) => {
    const record = parseProgramRecord(head + rest);
    if (record === undefined) return;
    expect(Object.keys(record.fields).length).toBeLessThanOrEqual(32);
    expect(record.error).toBe(record.error.trimEnd());
    expect(JSON.parse(JSON.stringify(record))).toStrictEqual(record);
  });
});

test('64 KiB of any repeated text take little processor time', () => {
  const slow: string[] = [];
  for (const head of openings) {
    for (const piece of pieces) {
      const text = head + piece.repeat(65_536 / piece.length);
      const before = process.threadCpuUsage();
      parseProgramRecord(text);
      const { user } = process.threadCpuUsage(before);
      // A few milliseconds are usual. Code that goes through the text once for each of its pieces takes seconds.
      if (user > 300_000) slow.push(`${JSON.stringify(head)} ${JSON.stringify(piece)}: ${user} µs`);
    }
  }
  expect(slow).toStrictEqual([]);
});
