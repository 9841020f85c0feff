import { describe, expect, test } from 'vitest';
import { successors, withoutSuccessor } from '../../src/config/kube-iptables-tailer.ts';
import { loadConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';

const read = (env: Record<string, string>, flags: Record<string, string> = {}) =>
  loadConfig({ flags, env: { NODE_NAME: 'node-a', ...env }, readText: () => 'maxNodes: 1' });

const containers = { kind: 'containers' };

test.each<[Record<string, string>, object]>([
  [
    { IPTABLES_LOG_PATH: '/var/log/iptables.log' },
    { sources: [{ kind: 'file', path: '/var/log/iptables.log' }, containers] },
  ],
  [{ IPTABLES_LOG_PATH: '/var/log/a,b.log' }, { sources: [{ kind: 'file', path: '/var/log/a,b.log' }, containers] }],
  [
    { JOURNAL_DIRECTORY: '/var/log/journal' },
    { sources: [{ kind: 'journal', directory: '/var/log/journal' }, containers] },
  ],
  [{ IPTABLES_LOG_PREFIX: 'calico-drop:' }, { prefixes: [{ prefix: 'calico-drop:', verdict: 'dropped' }] }],
  [{ METRICS_SERVER_PORT: '9191' }, { metricsAddress: ':9191' }],
  [{ POD_IDENTIFIER: 'namespace' }, { legacyMetric: 'namespace' }],
  [{ POD_IDENTIFIER: 'name' }, { legacyMetric: 'name' }],
  [{ POD_IDENTIFIER: 'name_with_namespace' }, { legacyMetric: 'name_with_namespace' }],
  [{ POD_IDENTIFIER: 'label' }, { legacyMetric: 'workload' }],
  [{ POD_IDENTIFIER: 'what else' }, { legacyMetric: 'namespace' }],
])('%j', (env, expected) => {
  const { config, warnings } = read(env);
  expect(config).toEqual({ ...read({}).config, ...expected });
  expect(warnings).toHaveLength(1);
});

test('a warning for each inherited variable names the setting to use instead', () => {
  expect(read({ IPTABLES_LOG_PREFIX: 'calico-drop:' }).warnings).toEqual([
    'IPTABLES_LOG_PREFIX is a variable of kube-iptables-tailer, taken as calico-drop:=dropped: set PREFIXES, or prefixes in the file, to that instead (see docs/migrating.md)',
  ]);
  for (const [variable, { setting }] of Object.entries(successors)) {
    const [warning = ''] = read({ [variable]: variable === 'METRICS_SERVER_PORT' ? '80' : '/a' }).warnings;
    expect(warning).toContain(`${variable} is`);
    expect(warning).toContain(`${settings[setting].env}, or ${setting} in the file`);
  }
});

test('what the warning says to set sets the same', () => {
  const env = { IPTABLES_LOG_PATH: '/var/log/iptables.log', IPTABLES_LOG_PREFIX: 'a:', METRICS_SERVER_PORT: '1' };
  const { config, warnings } = read(env);
  const taken = warnings.map((warning) => /taken as (.*): set (\w+)/.exec(warning) ?? []);
  expect(taken).toHaveLength(3);
  const own = Object.fromEntries(taken.map(([, value = '', variable = '']) => [variable, value]));
  expect(read(own).config).toEqual(config);
  expect(read(own).warnings).toEqual([]);
});

test.each(Object.keys(withoutSuccessor))('%s has no counterpart, changes nothing and gives a warning', (variable) => {
  const { config, warnings } = read({ [variable]: '7' });
  expect(config).toEqual(read({}).config);
  expect(warnings).toEqual([
    `${variable} is a variable of kube-iptables-tailer and has no counterpart: ${withoutSuccessor[variable]} (see docs/migrating.md)`,
  ]);
});

describe('goes unheard', () => {
  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['behind a variable', { PREFIXES: 'b=logged' }, {}],
    ['behind an option', {}, { prefix: 'b=logged' }],
  ])('%s', (_, env, flags) => {
    const { config, warnings } = read({ IPTABLES_LOG_PREFIX: 'a', ...env }, flags);
    expect(config.prefixes).toEqual([{ prefix: 'b', verdict: 'logged' }]);
    expect(warnings).toEqual([
      'IPTABLES_LOG_PREFIX is a variable of kube-iptables-tailer and does nothing, because prefixes is set: remove it (see docs/migrating.md)',
    ]);
  });

  test('behind the file', () => {
    const { config, warnings } = loadConfig({
      flags: { config: 'f' },
      env: { NODE_NAME: 'node-a', METRICS_SERVER_PORT: '1' },
      readText: () => 'metricsAddress: ":2"',
    });
    expect(config.metricsAddress).toBe(':2');
    expect(warnings).toEqual([expect.stringContaining('because metricsAddress is set')]);
  });

  test('a log file beside a journal, as there', () => {
    const { config, warnings } = read({ IPTABLES_LOG_PATH: '/a', JOURNAL_DIRECTORY: '/b' });
    expect(config.sources).toEqual([{ kind: 'journal', directory: '/b' }, containers]);
    expect(warnings).toHaveLength(2);
    expect(warnings[1]).toContain('IPTABLES_LOG_PATH is a variable of kube-iptables-tailer and does nothing, as there');
  });

  test('a port that is none, as there', () => {
    expect(read({ METRICS_SERVER_PORT: 'http' }).config.metricsAddress).toBe(':9090');
    expect(read({ METRICS_SERVER_PORT: 'http' }).warnings).toHaveLength(1);
  });

  test('the URL that each container next to a Service metrics-server has, without a word', () => {
    expect(read({ METRICS_SERVER_PORT: 'tcp://10.96.0.1:443' })).toMatchObject({
      config: { metricsAddress: ':9090' },
      warnings: [],
    });
  });

  test('an empty variable', () => {
    const all = [...Object.keys(successors), ...Object.keys(withoutSuccessor)];
    const { config, warnings } = read(Object.fromEntries(all.map((variable) => [variable, ''])));
    expect(config).toEqual(read({}).config);
    expect(warnings).toEqual([]);
  });
});

test('a wrong value is reported with the name of the inherited variable', () => {
  expect(() => read({ IPTABLES_LOG_PATH: 'iptables.log', METRICS_SERVER_PORT: '70000' })).toThrow(
    'IPTABLES_LOG_PATH "file:iptables.log": must be auto, kernel, containers, journal, journal:DIR, file:PATH or program:NAME=PATH, with absolute paths\n' +
      'METRICS_SERVER_PORT ":70000": must be :PORT or HOST:PORT, for example :9090',
  );
});
