import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aggregate } from '../../../src/cli/report/aggregate/aggregate.ts';
import { readEvents } from '../../../src/cli/report/read/events.ts';
import type { AuditReport } from '../../../src/cli/report/model.ts';
import { markdownText } from '../../../src/cli/report/texts/outputs.ts';
import { printable } from '../../../src/base/platform/printable.ts';
import { forAll } from '../../for-all.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { gap, linesOf, now, row, verdictOf, withRows, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

/** How three families of programs find the end of a cell, each according to its documentation or source. */
const splitters: Readonly<Record<string, (line: string) => string[]>> = {
  /** GitHub's cmark-gfm, and micromark: a backslash escapes the character after it. */
  pairs: (line) => cellsOf(line, (before) => before % 2 === 1),
  /** markdown-it: looks only at the character before. */
  neighbour: (line) => cellsOf(line, (before) => before > 0),
};

function cellsOf(line: string, isEscaped: (backslashes: number) => boolean): string[] {
  const cells: string[] = [''];
  let backslashes = 0;
  for (const character of line.trim().slice(1, -1)) {
    if (character === '|' && !isEscaped(backslashes)) cells.push('');
    else cells[cells.length - 1] += character;
    backslashes = character === '\\' ? backslashes + 1 : 0;
  }
  return cells.map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
}

/** Returns the text of a cell that is one code span (CommonMark, 6.1); undefined if anything is outside of the span. */
function inCode(cell: string): string | undefined {
  const [fence = ''] = /^`*/.exec(cell) ?? [];
  const ends = [...cell.slice(fence.length).matchAll(/`+/g)].find(([run]) => run.length === fence.length);
  if (fence === '' || ends === undefined || fence.length + ends.index + fence.length !== cell.length) return undefined;
  const inside = cell.slice(fence.length, -fence.length);
  return /^ .* $/.test(inside) && inside.trim() !== '' ? inside.slice(1, -1) : inside;
}

const isNumber = (cell: string): boolean => /^[\d,]*$/.test(cell);

/** A report with rows in all its sections. */
async function report(): Promise<AuditReport> {
  const scan = Array.from({ length: 9 }, (_, number) =>
    row(20 + number, { 'source.k8s.owner.name': 'scanner', 'destination.k8s.owner.name': `web-${number}` }),
  );
  const rows = write('rows.ndjson', linesOf([row(1, verdictOf('denied', 'NetworkPolicy shop/web')), ...scan, gap(3)]));
  const event = {
    message: 'x',
    count: 1,
    firstTimestamp: '2026-11-20T09:10:00Z',
    lastTimestamp: '2026-11-20T09:20:00Z',
  };
  const about = {
    ...event,
    involvedObject: { kind: 'Node', name: 'node-a' },
    source: { component: 'kube-netfilter-tailer' },
  };
  const items = ['ConntrackTableFull', 'PacketDrop'].map((reason) => Object.assign({}, about, { reason }));
  const { incidents, events } = readEvents([write('events.json', JSON.stringify({ kind: 'List', items }))]);
  const options = { includeNoise: false, policy: [], now, hasBaseline: false };
  const sums = await withRows(path(), [rows], (engine) => aggregate(engine, options));
  const none = { duplicates: 0, broken: 0, refused: 0, leftOutOfBaseline: undefined, problems: [] };
  return { ...sums, ...none, incidents, events, policy: ['x'], clusters: ['x'] };
}

/** Puts `text` into every text field. */
function filled<Value>(value: Value, text: string): Value {
  if (typeof value === 'string') return text as Value;
  if (Array.isArray(value)) return value.map((each) => filled(each, text)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, text)])) as Value;
}

const pieces = fc.constantFrom(
  '\\',
  '|',
  '`',
  '``',
  ' ',
  '![p](http://evil.example/q.png)',
  '<img src=x>',
  '[^1]',
  '[^1]: x',
  '@team',
  '#1',
  '$',
  '~~',
  'http://evil.example',
  '\n',
  '\r',
  '\u0085',
  '\u2028',
  '\u00A0',
  '\t',
  '&#124;',
  '---',
  '*',
  '_',
  'a',
  '\u{1F600}',
  '<!--',
  '\\|',
);
const texts = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

test('no text of a row or an Event leaves its code span, in any field and for any reader of Markdown tables', async () => {
  const plain = await report();
  const expected = markdownText(plain).split('\n');
  forAll([texts], { numRuns: 200, examples: [[String.raw`\| ![p](http://evil.example/q.png) |`]] }, (text) => {
    const lines = markdownText(filled(plain, text)).split('\n');
    expect(lines.length).toBe(expected.length);
    for (const [index, line] of lines.entries()) {
      const model = expected[index] ?? '';
      if (/^\| (?!---|--:)/.test(model) && model.includes('`')) {
        const count = splitters.pairs?.(model).length;
        for (const [reader, split] of Object.entries(splitters)) {
          const cells = split(line);
          expect([reader, line, cells.length]).toEqual([reader, line, count]);
          for (const cell of cells)
            expect([reader, cell, isNumber(cell) || inCode(cell) !== undefined]).toEqual([reader, cell, true]);
        }
      } else if (model.startsWith('- ')) {
        const [, value = ''] = /^- [A-Z][a-z ]+: (.*)$/.exec(line) ?? [];
        if (value !== '') expect([line, inCode(value)]).not.toContain(undefined);
      } else expect(line).toBe(model);
    }
  });
});

test('a cell shows its text unchanged, except for one backslash before a `|`', async () => {
  const plain = await report();
  forAll([texts], { numRuns: 100 }, (text) => {
    const shown = printable(text);
    if (shown.trim() === '' || shown.length > 250) return;
    const line =
      markdownText(filled(plain, text))
        .split('\n')
        .find((each) => each.startsWith('| `')) ?? '';
    const [first = ''] = splitters.pairs?.(line) ?? [];
    expect(inCode(first)?.replace(/\\+\|/g, String.raw`\|`)).toBe(shown.replace(/\\+\|/g, String.raw`\|`));
  });
});
