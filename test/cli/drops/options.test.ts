import { expect, test } from 'vitest';
import { readDropsOptions, readWhyPodOptions } from '../../../src/cli/options/drops-options.ts';
import { readTopOptions } from '../../../src/cli/options/top-options.ts';
import { parsed } from '../parsed.ts';

const read = (...args: string[]) => readDropsOptions(parsed('kubectl drops', ...args));

test.each([
  [[], undefined],
  [['web-0'], { kind: 'Pod', name: 'web-0' }],
  [['pod/why'], { kind: 'Pod', name: 'why' }],
  [['po/web-0'], { kind: 'Pod', name: 'web-0' }],
  [['deployment/web'], { kind: 'Deployment', name: 'web' }],
  [['deploy/web'], { kind: 'Deployment', name: 'web' }],
  [['StatefulSet/db'], { kind: 'StatefulSet', name: 'db' }],
  [['svc/db'], { kind: 'Service', name: 'db' }],
  [['job/report'], { kind: 'Job', name: 'report' }],
  [['batch/worker-7'], { kind: 'Pod', namespace: 'batch', name: 'worker-7' }],
  [['deploy/batch/worker'], { kind: 'Deployment', namespace: 'batch', name: 'worker' }],
])('%j requests the drops of', (args, target) => {
  expect(read(...args).target).toEqual(target && { namespace: undefined, ...target });
});

test.each<[string[], string | undefined, boolean]>([
  [['batch/worker-7'], 'batch', false],
  [['-n', 'batch', 'batch/worker-7'], 'batch', false],
  [['-A', 'deploy/batch/worker'], 'batch', false],
  [['-A', 'worker-7'], undefined, true],
])('%j looks into the namespace %s', (args, namespace, allNamespaces) => {
  expect(read(...args)).toMatchObject({ namespace, allNamespaces });
});

test.each([
  ['90s', 90_000],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
])('--since %s', (given, since) => {
  expect(read('--since', given)).toMatchObject({ filters: { since } });
});

test.each([
  [['-o', 'json'], 'json'],
  [['-ojson'], 'json'],
  [['-o=json'], 'json'],
  [['--output=yaml'], 'yaml'],
  [[], 'table'],
])('%j prints', (args, output) => {
  expect(read(...args)).toMatchObject({ output });
});

test('short options may be combined in one word', () => {
  expect(read('-Aw')).toMatchObject({ allNamespaces: true, watch: true });
});

test("the impersonated user's name is passed on", () => {
  const args = ['--context', 'c', '--as', 'jane', '--as-group', 'a', '--as-group', 'b', '-n', 'shop'];
  expect(read(...args)).toMatchObject({ namespace: 'shop', flags: { context: 'c', as: 'jane', asGroups: ['a', 'b'] } });
});

test.each([
  [[], undefined],
  [['--request-timeout', '5'], 5000],
  [['--request-timeout=1m'], 60_000],
  [['--request-timeout', '500ms'], 500],
  [['--request-timeout', '0'], 2_147_483_647],
])('%j is the time limit of each request', (args, timeout) => {
  expect(read(...args)).toMatchObject({ timeout });
});

const readTop = (args: string[], hasTerminal = true) =>
  readTopOptions(parsed('kubectl drops', 'top', ...args), hasTerminal);

test('drops top: on a terminal it keeps running, sorted by rate, over all namespaces', () => {
  expect(readTop([])).toMatchObject({
    plain: false,
    count: undefined,
    interval: 2000,
    sort: 'rate',
    filter: '',
    namespace: undefined,
    agents: { namespace: 'kube-netfilter-tailer', port: undefined },
  });
});

test('drops top: the namespace of a name restricts the other end of its flows no more than -n does', () => {
  const target = { kind: 'Pod', namespace: 'batch', name: 'worker-7' };
  expect(readTop(['batch/worker-7'])).toMatchObject({ namespace: undefined, target });
  expect(readTop(['-n', 'shop', 'batch/worker-7'])).toMatchObject({ namespace: 'shop', target });
});

test('drops top: without a terminal it is one plain table', () => {
  expect(readTop([], false)).toMatchObject({ plain: true, count: 1 });
  expect(readTop(['--count', '3'], false)).toMatchObject({ plain: true, count: 3 });
});

test('drops top: --plain on a terminal keeps running', () => {
  expect(readTop(['--plain'])).toMatchObject({ plain: true, count: undefined });
});

test.each<[string[], RegExp]>([
  [[], /: why: of which Pod\?\n/],
  [['node/a', '-o', 'yaml'], /--output yaml: must be one of text, json\n.*node\/a: must be POD/],
])('drops why %j is refused', (args, problem) => {
  expect(() => readWhyPodOptions(parsed('kubectl drops', 'why', ...args))).toThrow(problem);
});

test('drops why accepts a workload, and the port of its drops', () => {
  expect(readWhyPodOptions(parsed('kubectl drops', '-n', 'shop', 'why', 'deploy/web', '--port', '53'))).toMatchObject({
    namespace: 'shop',
    target: { kind: 'Deployment', name: 'web' },
    filters: { ports: [{ port: 53 }] },
    output: 'text',
  });
});
