import { expect, test } from 'vitest';
import { successors, withoutSuccessor } from '../../../src/agent/config/layer.ts';
import { ConfigError, loadConfig } from '../../../src/agent/config/config.ts';
import { settings } from '../../../src/agent/config/settings.ts';

const read = (env: Record<string, string>, flags: Record<string, string> = {}) =>
  loadConfig({ flags, env: { NODE_NAME: 'node-a', ...env }, readText: () => 'maxNodes: 1' });

/** The variables that the warnings name. */
const variablesOf = (warnings: readonly string[]) => warnings.map((warning) => warning.split(' ')[0]);

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
])('settings of kube-iptables-tailer are read: %j', (env, expected) => {
  const { config, warnings } = read(env);
  expect(config).toEqual({ ...read({}).config, ...expected });
  expect(warnings).toHaveLength(1);
});

test('the warning for each inherited variable names the setting to use instead', () => {
  for (const [variable, { setting }] of Object.entries(successors)) {
    const [warning = ''] = read({ [variable]: variable === 'METRICS_SERVER_PORT' ? '80' : '/a' }).warnings;
    expect(variablesOf([warning])).toEqual([variable]);
    expect(warning).toContain(settings[setting].env);
    expect(warning).toContain(` ${setting} `);
  }
});

test.each<[string, Record<string, string>, Record<string, string>]>([
  ['behind a variable', { PREFIXES: 'b=logged' }, {}],
  ['behind an option', {}, { prefix: 'b=logged' }],
])('a variable of kube-iptables-tailer has no effect: %s', (_, env, flags) => {
  const { config, warnings } = read({ IPTABLES_LOG_PREFIX: 'a', ...env }, flags);
  expect(config.prefixes).toEqual([{ prefix: 'b', verdict: 'logged' }]);
  expect(variablesOf(warnings)).toEqual(['IPTABLES_LOG_PREFIX']);
});

test('a variable of kube-iptables-tailer has no effect if the file has the setting', () => {
  const { config, warnings } = loadConfig({
    flags: { config: 'f' },
    env: { NODE_NAME: 'node-a', METRICS_SERVER_PORT: '1' },
    readText: () => 'metricsAddress: ":2"',
  });
  expect(config.metricsAddress).toBe(':2');
  expect(variablesOf(warnings)).toEqual(['METRICS_SERVER_PORT']);
});

test('a log file overrides a journal, as in kube-iptables-tailer', () => {
  const { config, warnings } = read({ IPTABLES_LOG_PATH: '/a', JOURNAL_DIRECTORY: '/b' });
  expect(config.sources).toEqual([{ kind: 'journal', directory: '/b' }, containers]);
  expect(variablesOf(warnings)).toEqual(['JOURNAL_DIRECTORY', 'IPTABLES_LOG_PATH']);
});

test('an invalid port is ignored with a warning, as in kube-iptables-tailer', () => {
  expect(read({ METRICS_SERVER_PORT: 'http' }).config.metricsAddress).toBe(':9090');
  expect(read({ METRICS_SERVER_PORT: 'http' }).warnings).toHaveLength(1);
});

test('a URL that Kubernetes sets because of a Service metrics-server is ignored silently', () => {
  expect(read({ METRICS_SERVER_PORT: 'tcp://10.96.0.1:443' })).toMatchObject({
    config: { metricsAddress: ':9090' },
    warnings: [],
  });
});

test('an empty variable', () => {
  const all = [...Object.keys(successors), ...withoutSuccessor];
  const { config, warnings } = read(Object.fromEntries(all.map((variable) => [variable, ''])));
  expect(config).toEqual(read({}).config);
  expect(warnings).toEqual([]);
});

test('a wrong value is reported with the name of the inherited variable', () => {
  const env = { IPTABLES_LOG_PATH: 'iptables.log', METRICS_SERVER_PORT: '70000' };
  expect(() => read(env)).toThrow(ConfigError);
  expect(() => read(env)).toThrow(/^IPTABLES_LOG_PATH "file:iptables\.log": .*\nMETRICS_SERVER_PORT ":70000": /);
});
