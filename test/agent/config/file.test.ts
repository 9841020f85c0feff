import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkConfigFile } from '../../../src/agent/config/config.ts';
import { settings } from '../../../src/agent/config/settings.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { subjectsOf } from '../../subject.ts';
import { problemsOf, readConfig, readFileOf } from './reading.ts';

const tables: { files: [string, object][] } = {
  // Texts of config files, and the settings in them that are not the default.
  files: [
    ['logLevel: debug', { logLevel: 'debug' }],
    ['logLevel: Warn', { logLevel: 'warn' }],
    [
      '{"logLevel": "debug", "maxNodes": 7, "includeNoise": true}',
      { logLevel: 'debug', maxNodes: 7, includeNoise: true },
    ],
    ['# nothing but this\n', {}],
    ['{}', {}],
    ['\ufefflogLevel: warn\r\nmaxNodes: 1\r\n', { logLevel: 'warn', maxNodes: 1 }],
    ['$schema: https://example.org/config.schema.json\nmaxNodes: 0x10', { maxNodes: 16 }],
    ['sources: [kernel, "file:/a,b"]', { sources: [{ kind: 'kernel' }, { kind: 'file', path: '/a,b' }] }],
    ['timeZone: +02:00', { timeZone: '+02:00' }],
    ['stateDir: &here /a', { stateDir: '/a' }],
    [
      'prefixes: [a=dropped, "b: =logged"]',
      {
        prefixes: [
          { prefix: 'a', verdict: 'dropped' },
          { prefix: 'b: ', verdict: 'logged' },
        ],
      },
    ],
    [
      'prefixes:\n  b=c: dropped\n  10: rejected\n  2: logged\n  __proto__: accepted',
      {
        prefixes: [
          { prefix: 'b=c', verdict: 'dropped' },
          { prefix: '10', verdict: 'rejected' },
          { prefix: '2', verdict: 'logged' },
          { prefix: '__proto__', verdict: 'accepted' },
        ],
      },
    ],
    ['prefixes: {}', { prefixes: [] }],
    ['containers:\n  - a,b/*/c', { containers: [{ namespaces: ['a', 'b'], pods: ['*'], containers: ['c'] }] }],
  ],
};

const base = readConfig({ node: 'node-a' }, {});

const files = temporaryFolder();

test.each<[string, object]>(tables.files)('a file: %j', (text, expected) => {
  expect(readFileOf(text).config).toEqual({ ...base, ...expected });
});

test('a file overrides the default, a variable the file, and an option the variable', () => {
  const text = 'maxNodes: 1\nmaxServices: 1\nmaxEndpointSlices: 1\nsources: [kernel]';
  const env = { MAX_SERVICES: '2', MAX_ENDPOINT_SLICES: '2', SOURCES: 'journal' };
  expect(readFileOf(text, { env, flags: { 'max-endpoint-slices': '3' } }).config).toEqual({
    ...base,
    maxNodes: 1,
    maxServices: 2,
    maxEndpointSlices: 3,
    sources: [{ kind: 'journal', directory: undefined }],
  });
});

test('the variable or the option names the file; the option overrides the variable', () => {
  const file = files('settings.yaml');
  writeFileSync(file, 'node: from-file');
  expect(readConfig({}, { CONFIG_FILE: file }).node).toBe('from-file');
  expect(readConfig({ config: file }, { CONFIG_FILE: '/nowhere' }).node).toBe('from-file');
  expect(readConfig({ node: 'node-a' }, { CONFIG_FILE: '' })).toEqual(base);
});

test('all mistakes are reported at once, with those of variables and options', () => {
  const text = 'statDir: /a\nlogLevel: inof\nmaxNodes: many';
  const problems = problemsOf(text, { env: { MAX_SERVICES: 'x', NODE_NAME: '' }, flags: { 'pod-cache': 'all' } });
  expect(subjectsOf(problems)).toEqual([
    '1:1: statDir',
    'NODE_NAME or --node',
    '--pod-cache "all"',
    '2:11: logLevel "inof"',
    '3:11: maxNodes "many"',
    'MAX_SERVICES "x"',
  ]);
});

test('a number that is a name needs quotes', () => {
  const env = { NODE_NAME: '' };
  expect(subjectsOf(problemsOf('node: 123', { env }))).toEqual(['1:7: node 123']);
  expect(readFileOf('node: "123"', { env }).config.node).toBe('123');
});

test('if a file cannot be parsed, its settings are not reported as missing', () => {
  expect(subjectsOf(problemsOf('{', { env: { NODE_NAME: '', MAX_NODES: 'x' } }))).toEqual([
    expect.stringMatching(/^[12]:\d+/),
    'MAX_NODES "x"',
  ]);
});

test('a wrong value that an option overrides is not a problem, but a typo in a key is', () => {
  const problems = problemsOf('maxNodes: x\nnod: a', { flags: { 'max-nodes': '1' } });
  expect(subjectsOf(problems)).toEqual(['2:1: nod']);
});

test('each problem is one line of limited length, whatever its text', () => {
  const long = 'x'.repeat(10_000);
  const problems = problemsOf(`stateDir: "\\e[31m${long}"\n"${long}\\n": 1\nsources: [${'x,'.repeat(1000)}]`);
  expect(problems).toHaveLength(26);
  expect(problems.at(-1)).toContain('978');
  for (const problem of problems) {
    expect(problem.length).toBeLessThan(300);
    // oxlint-disable-next-line no-control-regex
    expect(problem).not.toMatch(/[\x00-\x1f]/);
  }
});

test.each([
  ['aliases', `a: &a [x,x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a,*a]\n`).join('')}`],
  ['depth', '['.repeat(100_000)],
  ['depth in blocks', '- '.repeat(100_000)],
  ['one quoted text', `a: "${'\\n\n '.repeat(60_000)}`],
  ['keys', Array.from({ length: 30_000 }, (_, i) => `k${i}: 1\n`).join('')],
  ['items', `sources: [${'x,'.repeat(120_000)}]`],
  ['a long prefix', `prefixes: ["${' x'.repeat(60_000)}"]`],
  ['many prefixes', `prefixes:\n${Array.from({ length: 12_000 }, (_, i) => ` p${i}: x\n`).join('')}`],
])('an input that expands without limit is refused quickly: %s', (_, text) => {
  const began = process.threadCpuUsage();
  const problems = problemsOf(text);
  const { user, system } = process.threadCpuUsage(began);
  // In µs of processor time, which does not depend on how busy the machine is. Usual is a tenth of this.
  expect(user + system).toBeLessThan(10_000_000);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.join('\n').length).toBeLessThan(20_000);
});

const largeFiles = temporaryFolder();

test('a file of 256 KiB is accepted', () => {
  writeFileSync(largeFiles('full'), Buffer.alloc(256 * 1024, '#'));
  expect(checkConfigFile(largeFiles('full'))).toEqual([]);
});

const check = (text: string) => checkConfigFile('f', () => text);

test('a check of a file alone does not report settings that may be set elsewhere as missing', () => {
  expect(check('maxNodes: 1')).toEqual([]);
  expect(check('node: node-a')).toEqual([]);
});

test('a check of a file alone lists its mistakes', () => {
  expect(subjectsOf(check('node: Node\nmaxNodes: x'))).toEqual(['f:1:7: node "Node"', 'f:2:11: maxNodes "x"']);
});

test('every setting has a key of its own in the file', () => {
  const text = Object.keys(settings).map((name) => `${name}: {}`);
  // An unknown key would be reported at its own place, in column 1; an impossible value at the place of the value.
  expect(problemsOf(text.join('\n')).filter((problem) => /^\d+:1: /.test(problem))).toEqual([]);
  expect(subjectsOf(problemsOf('none: {}'))).toEqual(['1:1: none']);
});
