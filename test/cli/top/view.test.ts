import { expect, test } from 'vitest';
import { plainText, press, shownRows, viewLines, type ViewState } from '../../../src/cli/top/view.ts';
import { topFlowOf } from '../../../src/cli/top/flows.ts';
import { createRates } from '../../../src/cli/top/rows.ts';
import { expectLines } from '../../expected-file.ts';
import { flow } from './flows.ts';

const tables: {
  sizes: [number, number][];
  moves: [string, (string | object)[], number][];
} = {
  // Sizes of screens, in columns and lines.
  sizes: [
    [1, 1],
    [2, 24],
    [3, 2],
    [20, 5],
    [43, 24],
    [79, 24],
    [99, 24],
    [100, 24],
    [139, 10],
    [500, 100],
  ],
  moves: [
    ['down', [{ name: 'down' }, 'j'], 2],
    ['up stops at the first', [{ name: 'up' }, 'k'], 0],
    ['the last', ['G'], 9],
    ['down stops at the last', ['G', 'j'], 9],
    ['the first', ['G', 'g'], 0],
    ['a page down', [{ name: 'pagedown' }], 9],
    ['what is no key', ['z', 'é', { name: undefined }], 0],
  ],
};

const now = Date.parse('2026-11-22T10:00:00Z');
const plain = (_: string, text: string): string => text;

/** Ten flows to ports from 8080 on, each with more packets than the one before. A policy rejects the flow to 8084. */
function flows(added: number) {
  return Array.from({ length: 10 }, (_, index) =>
    topFlowOf(
      flow({
        'destination.port': 8080 + index,
        'network.packets': index * (10 + added),
        ...(index === 4
          ? { 'event.action': 'rejected', 'security_rule.name': 'deny', 'policy.namespace': 'shop' }
          : {}),
        ...(index === 5 ? { 'source.k8s.owner.name': `worker-${'long-'.repeat(12)}end` } : {}),
      }),
    ),
  );
}

function state(given: Partial<ViewState> = {}): ViewState {
  const { take } = createRates();
  take(new Map([['a', flows(0)]]), 0);
  return {
    rows: take(new Map([['a', flows(1)]]), 2000),
    agents: { asked: 2, answered: 2 },
    problem: undefined,
    sort: 'rate',
    reversed: false,
    filter: '',
    isTyping: false,
    selected: 0,
    scope: 'all namespaces',
    ...given,
  };
}

const keys = (from: ViewState, ...pressed: (string | object)[]): ViewState | 'quit' =>
  pressed.reduce<ViewState | 'quit'>(
    (at, key) => (at === 'quit' ? at : press(at, typeof key === 'string' ? { sequence: key } : key, 20)),
    from,
  );

const ports = (of: ViewState | 'quit'): string[] => (of === 'quit' ? [] : shownRows(of).map(({ port }) => port));

test.each([
  [80, 24],
  [200, 50],
])('a screen of %i columns and %i lines is drawn without colours', async (columns, lines) => {
  const problem = '1 of 2 agents: no answer: connect ETIMEDOUT';
  const shown = viewLines(state({ problem, selected: 2 }), { columns, lines }, now, plain);
  expect(shown).toHaveLength(lines);
  await expectLines(
    import.meta.dirname,
    `screen-${columns}x${lines}.expected.txt`,
    shown.map((line) => line.trimEnd()),
  );
});

test.each(tables.sizes)(
  'a screen of %i columns and %i lines has no line that is too long, and no surplus line',
  (columns, lines) => {
    for (const filter of ['', 'x'.repeat(100)]) {
      const shown = viewLines(state({ filter, problem: 'p'.repeat(600) }), { columns, lines }, now, plain);
      expect(shown.length).toBe(lines);
      expect(Math.max(...shown.map((line) => Array.from(line).length))).toBeLessThanOrEqual(columns);
    }
  },
);

function widthWith(port: string): number {
  const [first, ...others] = state().rows;
  const rows = first === undefined ? [] : [...others, { ...first, port }];
  const [, , titles = ''] = viewLines(state({ rows }), { columns: 100, lines: 24 }, now, plain);
  return titles.indexOf('RATE') - titles.indexOf('PORT');
}

test('the column PORT grows with its longest text by up to seven characters', () => {
  const usual = widthWith('8080/TCP');
  expect(widthWith('8080/TCP (reply)')).toBe(usual + 6);
  expect(widthWith('ICMP fragmentation needed')).toBe(usual + 7);
});

test('the selected row has a mark that needs no colour, and is visible', () => {
  for (const selected of [0, 5, 9, 99]) {
    const shown = viewLines(state({ selected }), { columns: 80, lines: 8 }, now, plain);
    expect(shown.filter((line) => line.startsWith('> '))).toHaveLength(1);
  }
});

test('a screen: colours change no text', () => {
  const coloured = viewLines(state(), { columns: 120, lines: 24 }, now, (colour, text) => `<${colour}|${text}|>`);
  expect(coloured.join('\n')).toContain('<yellow|rejected|>');
  expect(coloured.map((line) => line.replaceAll(/<\w+\||\|>/g, ''))).toEqual(
    viewLines(state(), { columns: 120, lines: 24 }, now, plain),
  );
});

test('plain prints all rows and columns, one per line, with the time', async () => {
  const text = plainText(state(), now);
  await expectLines(import.meta.dirname, 'plain.expected.txt', text.trimEnd().split('\n'));
});

test('plain says that nothing was dropped', () => {
  expect(plainText(state({ rows: [] }), now).split('\n')).toHaveLength(3);
});

test.each([
  ['R', 'rate'],
  ['P', 'packets'],
  ['L', 'last'],
  ['F', 'from'],
  ['T', 'to'],
])('keys: %s sorts by %s, and in reverse the second time', (key, sort) => {
  const other = state({ sort: sort === 'from' ? 'to' : 'from' });
  expect(keys(other, key)).toMatchObject({ sort, reversed: false, selected: 0 });
  expect(keys(other, key, key)).toMatchObject({ sort, reversed: true });
  expect(keys(other, key, key, key)).toMatchObject({ sort, reversed: false });
});

test('sorting by packets puts the most first', () => {
  expect(ports(keys(state(), 'P')).slice(0, 2)).toEqual(['8089/TCP', '8088/TCP']);
  expect(ports(keys(state(), 'P', 'P')).slice(0, 2)).toEqual(['8080/TCP', '8081/TCP']);
});

test.each<[string, (string | object)[], number]>(tables.moves)('keys: %s', (_, pressed, selected) => {
  expect(keys(state(), ...pressed)).toMatchObject({ selected });
});

test('a filter is typed, stays after Enter, and Escape clears it', () => {
  const typed = keys(state(), '/', ...Array.from('8085q'));
  expect(typed).toMatchObject({ isTyping: true, filter: '8085q' });
  const corrected = keys(typed as ViewState, { name: 'backspace', sequence: '\u007F' }, { name: 'return' });
  expect(corrected).toMatchObject({ isTyping: false, filter: '8085' });
  expect(ports(corrected)).toEqual(['8085/TCP']);
  expect(ports(keys(corrected as ViewState, { name: 'escape' }))).toHaveLength(10);
});

test('a filter accepts at most a hundred characters, and no control characters', () => {
  const typed = keys(state(), '/', '\u001B[2J', '\u0007', ...Array.from('x'.repeat(200)));
  expect(typed).toMatchObject({ filter: 'x'.repeat(100) });
});

test.each<[string, (string | object)[]]>([
  ['q', ['q']],
  ['Ctrl-C', [{ name: 'c', ctrl: true, sequence: '\u0003' }]],
  ['Ctrl-C while a filter is typed', ['/', { name: 'c', ctrl: true, sequence: '\u0003' }]],
])('keys: %s ends it', (_, pressed) => {
  expect(keys(state(), ...pressed)).toBe('quit');
});

const drawn = (columns: number) =>
  viewLines(state({ sort: 'packets', selected: 5 }), { columns, lines: 24 }, now, plain).map((line) => line.trimEnd());

test('keys that do not fit are left out as a whole', () => {
  expect(drawn(80).at(-1)).toMatch(/ {2}<shift-p> packets$/);
  expect(drawn(200).at(-1)).toMatch(/ {2}<shift-t> to$/);
});

test("if the screen has no column for it, the selected row's policy is above the keys", () => {
  expect(drawn(80).at(-2)).toBe('policy: shop/deny  batch/worker (Deployment) → shop/postgres-0');
  expect(drawn(140).at(-2)).toBe('');
});

test('rows hidden by options are mentioned', () => {
  const leftOut = { flows: 12, by: '--port 53' };
  expect(plainText(state({ rows: [], leftOut }), now)).toContain('\n12 flows, none matches --port 53\n');
});
