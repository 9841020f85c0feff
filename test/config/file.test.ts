import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkConfigFile } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { problemsOf, readConfig, readFileOf } from './reading.ts';

const base = readConfig({ node: 'node-a' }, {});

describe('a file', () => {
  const folder = temporaryFolder();

  test.each<[string, object]>([
    ['logLevel: debug', { logLevel: 'debug' }],
    ['logLevel: Warn', { logLevel: 'warn' }],
    [
      '{"logLevel": "debug", "maxNodes": 7, "includeNoise": true}',
      { logLevel: 'debug', maxNodes: 7, includeNoise: true },
    ],
    ['# nothing but this\n', {}],
    ['{}', {}],
    ['\uFEFFlogLevel: warn\r\nmaxNodes: 1\r\n', { logLevel: 'warn', maxNodes: 1 }],
    ['$schema: https://example.org/config.schema.json\nmaxNodes: 0x10', { maxNodes: 16 }],
    ['sources: [kernel, "file:/a,b"]', { sources: [{ kind: 'kernel' }, { kind: 'file', path: '/a,b' }] }],
    ['timeZone: +02:00', { timeZone: '+02:00' }],
    ['stateDir: &here /a', { stateDir: '/a' }],
    ['prefixes: [a=dropped, "b: =logged"]', { prefixes: [rule('a', 'dropped'), rule('b: ', 'logged')] }],
    [
      'prefixes:\n  b=c: dropped\n  10: rejected\n  2: logged\n  __proto__: accepted',
      {
        prefixes: [rule('b=c', 'dropped'), rule('10', 'rejected'), rule('2', 'logged'), rule('__proto__', 'accepted')],
      },
    ],
    ['prefixes: {}', { prefixes: [] }],
    ['containers:\n  - a,b/*/c', { containers: [{ namespaces: ['a', 'b'], pods: ['*'], containers: ['c'] }] }],
  ])('%j', (text, expected) => {
    expect(readFileOf(text).config).toEqual({ ...base, ...expected });
  });

  test('goes over the default, a variable over the file, an option over that', () => {
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

  test('is named by the variable, or the option that goes over it', () => {
    const file = folder('settings.yaml');
    writeFileSync(file, 'node: from-file');
    expect(readConfig({}, { CONFIG_FILE: file }).node).toBe('from-file');
    expect(readConfig({ config: file }, { CONFIG_FILE: '/nowhere' }).node).toBe('from-file');
    expect(readConfig({ node: 'node-a' }, { CONFIG_FILE: '' })).toEqual(base);
  });
});

describe('what is wrong in a config file is reported with its place', () => {
  const sources =
    'must be auto, kernel, containers, journal, journal:DIR, file:PATH or program:NAME=PATH, with absolute paths';

  test.each<[string, ...string[]]>([
    ['statDir: /a', '1:1: statDir: there is no such setting; did you mean stateDir?'],
    ['MAX_NODES: 1', '1:1: MAX_NODES: there is no such setting; did you mean maxNodes?'],
    ['time-zone: UTC', '1:1: time-zone: there is no such setting; did you mean timeZone?'],
    ['colour: red', '1:1: colour: there is no such setting'],
    ['# a\n\nlogLevel:   inof', '3:13: logLevel "inof": must be debug, info, warn or error; did you mean info?'],
    ['logLevel: warning', '1:11: logLevel "warning": must be debug, info, warn or error; did you mean warn?'],
    ['podCache: nodes', '1:11: podCache "nodes": must be node or cluster; did you mean node?'],
    ['includeNoise: yes', '1:15: includeNoise "yes": must be true or false'],
    ['includeNoise: "true"', '1:15: includeNoise "true": must be true or false, without quotes'],
    ['maxNodes: "5"', '1:11: maxNodes "5": must be a whole number, without quotes'],
    ['maxNodes: 1.5', '1:11: maxNodes 1.5: must be a whole number'],
    ['maxNodes: -1', '1:11: maxNodes -1: must be a whole number'],
    ['maxNodes: .inf', '1:11: maxNodes Infinity: must be a whole number'],
    ['maxNodes: 1234567890', '1:11: maxNodes 1234567890: must be a whole number of at most nine digits'],
    ['stateDir: 5', '1:11: stateDir 5: must be text; put it in quotes'],
    ['stateDir: [/a]', '1:11: stateDir: must be text; put it in quotes'],
    ['stateDir: {a: 1}', '1:11: stateDir: must be text; put it in quotes'],
    ['sources: kernel', '1:10: sources "kernel": must be a list: a line "- VALUE" each, or [VALUE, VALUE]'],
    [
      'sources: [kernl, 5]',
      `1:11: sources[0] "kernl": ${sources}; did you mean kernel?`,
      '1:18: sources[1] 5: must be text; put it in quotes',
    ],
    ['sources:\n  - kernel\n  - - a', '3:5: sources[1]: must be text; put it in quotes'],
    ['sources: []', '1:10: sources: names nothing to read'],
    ['sources: {a: 1}', '1:10: sources: must be a list: a line "- VALUE" each, or [VALUE, VALUE]'],
    ['stateDir:', '1:1: stateDir: has no value; leave the line out for the default'],
    ['kubeconfig: null', '1:1: kubeconfig: has no value; leave the line out for the default'],
    [
      'prefixes:\n  a: DROP',
      '2:6: prefixes.a "DROP": must be dropped, rejected, logged or accepted; did you mean dropped?',
    ],
    ['prefixes:\n  "a b": true', '2:10: prefixes."a b" true: must be dropped, rejected, logged or accepted'],
    [
      'prefixes:\n  " ": dropped',
      '2:3: prefixes." " " =dropped": must be NAME=VERDICT with a verdict of dropped, rejected, logged, accepted, for example my-drop=dropped',
    ],
    ['maxNodes: 1\n"maxNodes": 2', '2:2: is there twice: leave one out'],
    ['? [a]\n: 1', '1:3: a list or a map cannot be a key here'],
    ['a: &x [b]\nb: *x', '2:4: aliases (*name) are not understood here: write the value out'],
    ['a: 1\n---\nb: 2', ' holds several documents (---): one is expected'],
    ['- a', '1:1: is a list where settings should be: one "KEY: VALUE" a line, for example "logLevel: debug"'],
    [
      'just text',
      '1:1: is a single value where settings should be: one "KEY: VALUE" a line, for example "logLevel: debug"',
    ],
    ['null', '1:1: is a single value where settings should be: one "KEY: VALUE" a line, for example "logLevel: debug"'],
    [' \n', ' is empty; settings are one "KEY: VALUE" a line, for example "logLevel: debug"'],
    ['{a: 1,', '1:7: is not YAML: unexpected end of the stream within a flow collection'],
    ['stateDir: !!binary aGk=', '1:11: is not YAML: unknown scalar tag !<tag:yaml.org,2002:binary>'],
  ])('%j', (text, ...expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  test('all at once, with those of variables and options', () => {
    const text = 'statDir: /a\nlogLevel: inof\nmaxNodes: many';
    expect(problemsOf(text, { env: { MAX_SERVICES: 'x', NODE_NAME: '' }, flags: { 'pod-cache': 'all' } })).toEqual([
      '1:1: statDir: there is no such setting; did you mean stateDir?',
      expect.stringMatching(/^NODE_NAME or --node: is not set/),
      '--pod-cache "all": must be node or cluster',
      '2:11: logLevel "inof": must be debug, info, warn or error; did you mean info?',
      '3:11: maxNodes "many": must be a whole number',
      'MAX_SERVICES "x": must be a whole number',
    ]);
  });

  test('a number that is a name needs quotes', () => {
    const env = { NODE_NAME: '' };
    expect(problemsOf('node: 123', { env })).toEqual(['1:7: node 123: must be text; put it in quotes']);
    expect(readFileOf('node: "123"', { env }).config.node).toBe('123');
  });

  test('of a file that cannot be understood, what it may have set is not missed', () => {
    expect(problemsOf('{', { env: { NODE_NAME: '', MAX_NODES: 'x' } })).toEqual([
      expect.stringMatching(/^(?:1|2):\d+: is not YAML/),
      'MAX_NODES "x": must be a whole number',
    ]);
  });

  test('a wrong value that an option goes over is no problem, but a typo in a key is', () => {
    expect(problemsOf('maxNodes: x\nnod: a', { flags: { 'max-nodes': '1' } })).toEqual([
      '2:1: nod: there is no such setting; did you mean node?',
    ]);
  });

  test('on one line and in bounds, whatever stands there', () => {
    const long = 'x'.repeat(10_000);
    const problems = problemsOf(`stateDir: "\\e[31m${long}"\n"${long}\\n": 1\nsources: [${'x,'.repeat(1000)}]`);
    expect(problems).toHaveLength(26);
    expect(problems.at(-1)).toBe('and 978 more');
    for (const problem of problems) {
      expect(problem.length).toBeLessThan(300);
      // oxlint-disable-next-line no-control-regex
      expect(problem).not.toMatch(/[\x00-\x1f]/);
    }
  });
});

describe('bombs end soon', () => {
  test.each([
    ['aliases', `a: &a [x,x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a,*a]\n`).join('')}`],
    ['depth', '['.repeat(100_000)],
    ['depth in blocks', '- '.repeat(100_000)],
    ['one quoted text', `a: "${'\\n\n '.repeat(60_000)}`],
    ['keys', Array.from({ length: 30_000 }, (_, i) => `k${i}: 1\n`).join('')],
    ['items', `sources: [${'x,'.repeat(120_000)}]`],
    ['a long prefix', `prefixes: ["${' x'.repeat(60_000)}"]`],
    ['many prefixes', `prefixes:\n${Array.from({ length: 12_000 }, (_, i) => ` p${i}: x\n`).join('')}`],
  ])('%s', (_, text) => {
    const began = process.threadCpuUsage();
    const problems = problemsOf(text);
    const { user, system } = process.threadCpuUsage(began);
    // In µs; a tenth of that is usual. Of the processor: how busy the machine is says nothing.
    expect(user + system).toBeLessThan(10_000_000);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join('\n').length).toBeLessThan(20_000);
  });
});

describe('what is no config file', () => {
  const folder = temporaryFolder();

  test.each<[string, string | Buffer | undefined, string]>([
    ['missing', undefined, 'cannot be read: no such file'],
    ['zero', 'a: \0', 'is no text: it holds zero bytes'],
    ['latin1', Buffer.from('a: \xfc', 'latin1'), 'is no text in UTF-8'],
    ['large', Buffer.alloc(10_000_000, '#'), 'is larger than 256 KiB: that is no config file'],
  ])('%s', (name, bytes, expected) => {
    if (bytes !== undefined) writeFileSync(folder(name), bytes);
    expect(checkConfigFile(folder(name))).toEqual([`${folder(name)}: ${expected}`]);
  });

  test('a folder, a part of the path that is none, a device', () => {
    expect(checkConfigFile(folder())).toEqual([`${folder()}: is a folder`]);
    writeFileSync(folder('file'), 'node: node-a');
    expect(checkConfigFile(folder('file', 'below'))).toEqual([
      `${folder('file', 'below')}: cannot be read: a part of the path is not a folder`,
    ]);
    expect(checkConfigFile('/dev/null')).toEqual(['/dev/null: is no regular file']);
  });

  test('but 256 KiB may be used', () => {
    writeFileSync(folder('full'), Buffer.alloc(256 * 1024, '#'));
    expect(checkConfigFile(folder('full'))).toEqual([]);
  });
});

const check = (text: string) => checkConfigFile('f', () => text);

describe('a check of a file alone', () => {
  test('does not miss what is set elsewhere', () => {
    expect(check('maxNodes: 1')).toEqual([]);
    expect(check('node: node-a')).toEqual([]);
  });

  test('lists what is wrong', () => {
    expect(check('node: Node\nmaxNodes: x')).toEqual([
      'f:1:7: node "Node": is no name of a Node',
      'f:2:11: maxNodes "x": must be a whole number',
    ]);
  });
});

test('every setting has a key of its own in the file', () => {
  expect(
    problemsOf(
      Object.keys(settings)
        .map((name) => `${name}: {}`)
        .join('\n'),
    ),
  ).not.toContainEqual(expect.stringContaining('there is no such setting'));
});

function rule(prefix: string, verdict: string) {
  return { prefix, verdict };
}
