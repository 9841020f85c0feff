/** The wording of all that this slice says. The other tests assert subjects and counts only. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkConfigFile, ConfigError, loadConfig } from '../../src/config/config.ts';
import { envTypos } from '../../src/config/layer.ts';
import { withoutSuccessor } from '../../src/config/kube-iptables-tailer.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { createReloadScene } from './reload-scene.ts';
import { problemsOf, readConfig } from './reading.ts';

const sources =
  'must be auto, kernel, containers, journal, journal:DIR, file:PATH or program:NAME=PATH, with absolute paths';

describe('a wrong value of an option', () => {
  test.each<[string, string, string]>([
    ['node', '', 'is no name of a Node'],
    ['state-dir', 'state', 'must be an absolute path'],
    ['pod-cache', 'all', 'must be node or cluster'],
    ['include-noise', 'yes', 'must be true or false'],
    ['reverse-dns', 'TRUE', 'must be true or false'],
    ['time-zone', 'Europe/Atlantis', 'is no time zone; try Europe/Berlin, UTC or +02:00'],
    ['metrics-address', '9090', 'must be :PORT or HOST:PORT, for example :9090'],
    ['log-level', 'trace', 'must be debug, info, warn or error'],
    ['max-nodes', '-1', 'must be a whole number'],
    ['max-services', '1e3', 'must be a whole number'],
    ['max-endpoint-slices', 'none', 'must be a whole number'],
    ['source', 'journald', `${sources}; did you mean journal?`],
    ['log-level', 'wran', 'must be debug, info, warn or error; did you mean warn?'],
    ['legacy-metric', 'on', 'must be off, namespace, name, name_with_namespace or workload'],
    ['source', 'file:kern.log', sources],
    [
      'prefix',
      'my-drop',
      'must be NAME=VERDICT with a verdict of dropped, rejected, logged, accepted, for example my-drop=dropped',
    ],
    [
      'prefix',
      'my-drop=DROP',
      'must be NAME=VERDICT with a verdict of dropped, rejected, logged, accepted, for example my-drop=dropped; did you mean my-drop=dropped?',
    ],
    ['source', '', 'names nothing to read'],
    ['audit-label', 'team/', 'is no name of a label'],
    ['audit-label', 'a/b/c', 'is no name of a label'],
    ['audit-label', 'team=shop', 'is no name of a label'],
    ['audit-label', 'Example.com/team', 'is no name of a label'],
    ['unit', 'kube-proxy@', 'is a template: name its instance, such as kube-proxy@node-a'],
  ])('--%s %j', (flag, value, expected) => {
    const place = value === '' && flag === 'source' ? '--source' : `--${flag} ${JSON.stringify(value)}`;
    const list = ['source', 'prefix', 'unit', 'audit-label'].includes(flag);
    expect(() => readConfig({ node: 'node-a', [flag]: list ? [value] : value }, {})).toThrow(
      new ConfigError([() => `${place}: ${expected}`]),
    );
  });

  test('one source twice', () => {
    expect(() => readConfig({ node: 'node-a', source: ['kernel', 'kernel'] }, {})).toThrow(
      new ConfigError([() => '--source: names something twice']),
    );
  });

  test.each([
    ['a,b,c,d,e,f,g,h,i', 'must be eight labels at most'],
    ['app,team,app', 'names a label twice'],
  ])('labels %s', (list, expected) => {
    expect(() => readConfig({ node: 'node-a', 'audit-label': list.split(',') }, {})).toThrow(
      new ConfigError([() => `--audit-label: ${expected}`]),
    );
  });

  test('no node at all', () => {
    expect(() => readConfig({}, {})).toThrow(
      new ConfigError([
        () =>
          'NODE_NAME or --node: is not set; in a DaemonSet it comes from valueFrom: fieldRef: fieldPath: spec.nodeName',
      ]),
    );
  });
});

describe('a wrong config file', () => {
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

  test('more mistakes than are shown', () => {
    expect(problemsOf(`sources: [${'x,'.repeat(1000)}]`).at(-1)).toBe('and 976 more');
  });
});

describe('what is no config file', () => {
  const folder = temporaryFolder();

  test.each<[string, string | Buffer | undefined, string]>([
    ['missing', undefined, 'cannot be read: no such file'],
    ['zero', 'a: \0', 'is no text: it holds zero bytes'],
    ['latin1', Buffer.from('a: \xfc', 'latin1'), 'is no text in UTF-8'],
    ['large', Buffer.alloc(10_000_000, '#'), 'is larger than 256 KiB: that is no config file'],
    ['file/below', undefined, 'cannot be read: a part of the path is not a folder'],
    ['', undefined, 'is a folder'],
  ])('%j', (name, bytes, expected) => {
    writeFileSync(folder('file'), 'node: node-a');
    if (bytes !== undefined) writeFileSync(folder(name), bytes);
    const path = name === '' ? folder() : folder(name);
    expect(checkConfigFile(path)).toEqual([`${path}: ${expected}`]);
  });

  test('a device', () => {
    expect(checkConfigFile('/dev/null')).toEqual(['/dev/null: is no regular file']);
  });
});

test('a variable that looks like one of a setting', () => {
  expect(envTypos({ MAX_NODE: 'x' })).toEqual(['MAX_NODE: there is no such variable; did you mean MAX_NODES?']);
});

const loaded = (env: Record<string, string>) =>
  loadConfig({ flags: {}, env: { NODE_NAME: 'node-a', ...env }, readText: () => '' });

describe('variables of kube-iptables-tailer', () => {
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
    ...Object.entries(withoutSuccessor).map(([variable, why]): [Record<string, string>, string] => [
      { [variable]: '7' },
      `${variable} is a variable of kube-iptables-tailer and has no counterpart: ${why} (see docs/migrating.md)`,
    ]),
  ])('%j', (env, expected) => {
    expect(loaded(env).warnings).toEqual([expected]);
  });

  test('what the warning says to set sets the same', () => {
    const env = { IPTABLES_LOG_PATH: '/var/log/iptables.log', IPTABLES_LOG_PREFIX: 'a:', METRICS_SERVER_PORT: '1' };
    const { config, warnings } = loaded(env);
    const taken = warnings.map((warning) => /taken as (.*): set (\w+)/.exec(warning) ?? []);
    expect(taken).toHaveLength(3);
    const own = Object.fromEntries(taken.map(([, value = '', variable = '']) => [variable, value]));
    expect(loaded(own)).toMatchObject({ config, warnings: [] });
  });
});

describe('a config file that changes while the agent runs', () => {
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
  ])('%s', (_, next, expected) => {
    const { write, look, logged } = createReloadScene('logLevel: info');
    write(next);
    look();
    expect(logged.map(([, text]) => text)).toEqual(expected);
  });

  test('a file that is there again', () => {
    const { write, look, logged } = createReloadScene('logLevel: info');
    write(new Error('is gone'));
    look();
    write('logLevel: info');
    look();
    expect(logged.at(-1)?.[1]).toBe('The config file can be read again');
  });
});
