/** The wording of all messages about settings. The other tests assert only subjects and counts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkConfigFile, loadConfig } from '../../../src/agent/config/config.ts';
import { envTypos, withoutSuccessor } from '../../../src/agent/config/layer.ts';
import { expectLines, messageOf } from '../../expected-file.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { createReloadScene } from './reload-scene.ts';
import { problemsOf, readConfig } from './reading.ts';

/** The wrong values are taken from the lines `$ OPTION=VALUE` of the file. A list is split at its commas. */
test('wrong values of options are refused with the expected words', async () => {
  const file = 'options.expected.txt';
  const expected = readFileSync(join(import.meta.dirname, file), 'utf8').split('\n');
  const wrong = expected.filter((line) => line.startsWith('$ ')).map((line) => line.slice('$ '.length));
  expect(wrong.length).toBeGreaterThan(30);
  const said = wrong.map((line) => {
    const [flag = '', ...rest] = line.split('=');
    const value = rest.join('=');
    const isList = ['source', 'prefix', 'unit', 'audit-label'].includes(flag);
    const read = () => readConfig({ node: 'node-a', [flag]: isList ? value.split(',') : value }, {});
    return `$ ${line}\n${messageOf(read)}`;
  });
  await expectLines(import.meta.dirname, file, [...said, messageOf(() => readConfig({}, {}))]);
});

test('wrong config files are refused with the expected words', async () => {
  // The file also has the texts of the config files, each before its messages.
  const expected = readFileSync(join(import.meta.dirname, 'files.expected.txt'), 'utf8').slice(0, -1);
  const wrong = expected.split(/\n {2}=> .*(?:\n {2}=> .*)*(?:\n|$)/).slice(0, -1);
  expect(wrong.length).toBeGreaterThan(30);
  const said = wrong.flatMap((text) => [text].concat(problemsOf(text).map((problem) => `  => ${problem}`)));
  await expectLines(import.meta.dirname, 'files.expected.txt', said);
});

test('the first of many mistakes are shown', () => {
  expect(problemsOf(`sources: [${'x,'.repeat(1000)}]`).at(-1)).toBe('and 976 more');
});

const folder = temporaryFolder();

test.each<[string, string | Buffer | undefined, string]>([
  ['missing', undefined, 'cannot be read: no such file'],
  ['zero', 'a: \0', 'is not text: it contains zero bytes'],
  ['latin1', Buffer.from('a: \xfc', 'latin1'), 'is not UTF-8 text'],
  ['large', Buffer.alloc(256 * 1024 + 1, '#'), 'is larger than 256 KiB: that is not a config file'],
  ['file/below', undefined, 'cannot be read: a part of the path is not a folder'],
  ['', undefined, 'is a folder'],
])('a path is refused where there is no config file: %j', (name, bytes, expected) => {
  writeFileSync(folder('file'), 'node: node-a');
  if (bytes !== undefined) writeFileSync(folder(name), bytes);
  const path = name === '' ? folder() : folder(name);
  expect(checkConfigFile(path)).toEqual([`${path}: ${expected}`]);
});

test('a device', () => {
  expect(checkConfigFile('/dev/null')).toEqual(['/dev/null: is not a regular file']);
});

test('a variable that looks like one of a setting', () => {
  expect(envTypos({ MAX_NODE: 'x' })).toEqual(['MAX_NODE: there is no such variable; did you mean MAX_NODES?']);
});

const loaded = (env: Record<string, string>) =>
  loadConfig({ flags: {}, env: { NODE_NAME: 'node-a', ...env }, readText: () => '' });

test.each<[Record<string, string>, string]>([
  [
    { IPTABLES_LOG_PREFIX: 'calico-drop:' },
    'IPTABLES_LOG_PREFIX is a variable of kube-iptables-tailer, taken as calico-drop:=dropped: set PREFIXES, or prefixes in the file, to that instead (see docs/migrating.md)',
  ],
  [
    { IPTABLES_LOG_PREFIX: 'a', PREFIXES: 'b=logged' },
    'IPTABLES_LOG_PREFIX is a variable of kube-iptables-tailer and does nothing, because prefixes is set: remove it (see docs/migrating.md)',
  ],
  [
    { METRICS_SERVER_PORT: 'http' },
    'METRICS_SERVER_PORT is a variable of kube-iptables-tailer and does nothing, as there: remove it (see docs/migrating.md)',
  ],
  ...withoutSuccessor.map((variable): [Record<string, string>, string] => [
    { [variable]: '7' },
    `${variable} is a variable of kube-iptables-tailer and has no counterpart (see docs/migrating.md)`,
  ]),
])('variables of kube-iptables-tailer give the expected warnings: %j', (env, expected) => {
  expect(loaded(env).warnings).toEqual([expected]);
});

test('a setting that replaces a variable of kube-iptables-tailer has the same effect', () => {
  const env = { IPTABLES_LOG_PATH: '/var/log/iptables.log', IPTABLES_LOG_PREFIX: 'a:', METRICS_SERVER_PORT: '1' };
  const { config, warnings } = loaded(env);
  const taken = warnings.map((warning) => /taken as (.*): set (\w+)/.exec(warning) ?? []);
  expect(taken).toHaveLength(3);
  const own = Object.fromEntries(taken.map(([, value = '', variable = '']) => [variable, value]));
  expect(loaded(own)).toMatchObject({ config, warnings: [] });
});

test.each<[string, string | Error, string[]]>([
  ['a setting that is followed', 'logLevel: debug', ['Settings have changed']],
  [
    'settings that need a restart',
    'maxNodes: 2\nstateDir: /a',
    [
      'The config file has changed, but no setting that is followed at once',
      'Changed, but needs a restart: stateDir, maxNodes',
    ],
  ],
  ['a mistake', '{', ['The config file has changed and is wrong: the settings stay as they are']],
  [
    'a file that is gone',
    new Error('cannot be read: no such file'),
    ['The config file cannot be read: no such file: the settings stay as they are'],
  ],
])('a config file that changes while the agent runs: %s', (_, next, expected) => {
  const { write, look, logged } = createReloadScene('logLevel: info');
  write(next);
  look();
  expect(logged.map(([, text]) => text)).toEqual(expected);
});

test('a file that is back is reported', () => {
  const { write, look, logged } = createReloadScene('logLevel: info');
  write(new Error('is gone'));
  look();
  write('logLevel: info');
  look();
  expect(logged.at(-1)?.[1]).toBe('The config file can be read again');
});
