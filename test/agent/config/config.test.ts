import { describe, expect, test } from 'vitest';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { type Config, ConfigError } from '../../../src/agent/config/config.ts';
import { settings } from '../../../src/agent/config/settings.ts';
import { others } from './other-values.ts';
import { readConfig } from './reading.ts';
import { defaultRules } from '../../../src/read/sources/kubelet/find-logs.ts';
import { subjectsOf } from '../../subject.ts';

const tables: {
  defaults: Config;
  sources: [string, Config['sources']][];
  zones: [string, boolean][];
} = {
  // The default of each setting, except the rules for containers. The Node's name has no default.
  defaults: {
    node: 'node-a',
    sources: [{ kind: 'auto' }, { kind: 'containers' }],
    containers: [],
    podLogs: '/var/log/pods',
    units: [
      'kube-proxy.service',
      'k3s.service',
      'k3s-agent.service',
      'snap.kube-proxy.daemon.service',
      'snap.k8s.kube-proxy.service',
      'snap.microk8s.daemon-kubelite.service',
      'calico-node.service',
      'calico-felix.service',
    ],
    stateDir: '/var/lib/kube-netfilter-tailer',
    podCache: 'node',
    podLookups: ['calico-block', 'pod-cidr', 'directory', 'field-selector'],
    directory: undefined,
    policies: 'auto',
    prefixes: [],
    includeNoise: false,
    nodeCondition: false,
    timeZone: 'UTC',
    reverseDns: true,
    metricsAddress: ':9090',
    healthAddress: undefined,
    dropsAddress: undefined,
    legacyMetric: 'off',
    logLevel: 'info',
    kubeconfig: undefined,
    cluster: undefined,
    audit: [],
    auditVerdicts: ['dropped', 'rejected'],
    auditInterval: 60,
    auditQueue: 8,
    auditPeers: 'shown',
    auditIpv4Prefix: 32,
    auditIpv6Prefix: 128,
    auditOptOut: false,
    auditLabels: [],
    auditFileSize: 10,
    auditFileTotal: 100,
    auditOtlpHeaders: undefined,
    auditOtlpCa: undefined,
    maxNodes: 200,
    maxServices: 100000,
    maxEndpointSlices: 1000,
    procRoot: '/proc',
  },
  sources: [
    ['kernel', [{ kind: 'kernel' }]],
    ['auto,containers', [{ kind: 'auto' }, { kind: 'containers' }]],
    ['journal', [{ kind: 'journal', directory: undefined }]],
    ['journal:/host/journal', [{ kind: 'journal', directory: '/host/journal' }]],
    [' kernel , file:/a ', [{ kind: 'kernel' }, { kind: 'file', path: '/a' }]],
    [
      'file:/a\nfile:/b\n',
      [
        { kind: 'file', path: '/a' },
        { kind: 'file', path: '/b' },
      ],
    ],
    [',kernel,,', [{ kind: 'kernel' }]],
    ['program:k3s=/var/log/k3s.log', [{ kind: 'program', program: 'k3s', path: '/var/log/k3s.log' }]],
  ],
  zones: [
    ['UTC', true],
    ['+02:00', true],
    ['America/Argentina/Buenos_Aires', true],
    ['02:00', false],
    ['Berlin', false],
  ],
};

const defaults: Config = { ...tables.defaults, containers: [...defaultRules] };

type Flags = Parameters<typeof readConfig>[0];

/** Reads settings with a node, which has no default. */
const read = (flags: Flags, env: Record<string, string> = {}): Config => readConfig({ node: 'node-a', ...flags }, env);

function problemsOf(flags: Flags, env: Record<string, string> = {}): readonly string[] {
  try {
    readConfig(flags, env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toBe((error as ConfigError).problems.join('\n'));
    return (error as ConfigError).problems;
  }
  return [];
}

/** The problems with one wrong value, given as a flag; the Node's name is valid. */
const problemsOfOne = (flag: string, value: string): readonly string[] => problemsOf({ node: 'node-a', [flag]: value });

const names = Object.keys(settings) as (keyof Config)[];
const variables = names.filter((name) => settings[name].env !== '');

test('with only a node, all other settings have defaults', () => {
  expect(readConfig({ node: 'node-a' }, {})).toEqual(defaults);
  expect(readConfig({}, { NODE_NAME: 'node-a', HOME: '/root' })).toEqual(defaults);
});

test('the loaded config is frozen', () => {
  expect(Object.isFrozen(read({}))).toBe(true);
});

test.each(names)('%s is set by its flag', (name) => {
  const [byFlag, , expected] = others[name];
  expect(read({ [settings[name].flag]: byFlag })).toEqual({ ...defaults, [name]: expected });
});

test.each(variables)('%s is set in the environment', (name) => {
  const [, byEnv, expected] = others[name];
  const env = { NODE_NAME: 'node-a', [settings[name].env]: byEnv };
  expect(readConfig({}, env)).toEqual({ ...defaults, [name]: expected });
});

test.each(variables)('%s is not set by an empty variable', (name) => {
  expect(read({}, { [settings[name].env]: '' })).toEqual(defaults);
});

test.each(variables)('the flag of %s overrides the environment', (name) => {
  const { flag, env } = settings[name];
  const [byFlag, , expected] = others[name];
  expect(read({ [flag]: byFlag }, { [env]: '!' })).toEqual({ ...defaults, [name]: expected });
});

test('a kubeconfig named in the environment is left to the client library', () => {
  expect(read({}, { KUBECONFIG: '/kubeconfig', kubeconfig: '/kubeconfig' }).kubeconfig).toBeUndefined();
});

test('flags and variables are distinguished', () => {
  expect(new Set(names.map((name) => settings[name].flag)).size).toBe(names.length);
  expect(new Set(variables.map((name) => settings[name].env)).size).toBe(variables.length);
});

test.each<[string, Config['sources']]>(tables.sources)(
  'a list in the environment is separated by commas or newlines: %j',
  (text, sources) => {
    expect(read({}, { SOURCES: text }).sources).toEqual(sources);
  },
);

test('a list of flags may contain commas', () => {
  expect(read({ source: ['file:/a,b'], prefix: ['a,b=logged'] })).toMatchObject({
    sources: [{ kind: 'file', path: '/a,b' }],
    prefixes: [{ prefix: 'a,b', verdict: 'logged' }],
  });
});

test('a list of flags replaces that of the environment', () => {
  expect(read({ source: ['file:/a'] }, { SOURCES: 'kernel' }).sources).toEqual([{ kind: 'file', path: '/a' }]);
});

test('a prefix may contain the character that separates it from its verdict', () => {
  expect(read({ prefix: ['a=b=dropped', '=c=rejected'] }).prefixes).toEqual([
    { prefix: 'a=b', verdict: 'dropped' },
    { prefix: '=c', verdict: 'rejected' },
  ]);
});

test.each([
  ['an option', { prefix: ['=dropped'] }, {}],
  ['a variable', {}, { PREFIXES: '=dropped' }],
])('only lines without a prefix have the meaning that %s gives them', (_, options, env) => {
  const table = createPrefixTable(read(options, env).prefixes);
  expect(['', ' ', 'hello: '].map((raw) => table.look(raw).verdict)).toEqual(['dropped', 'dropped', 'logged']);
});

test("a prefix has its meaning even if the rule's text ends with a space", () => {
  const { prefixes } = read({ prefix: ['noted: =rejected'] });
  const table = createPrefixTable(prefixes);
  expect(table.look('noted: ').verdict).toBe('rejected');
});

describe('an unusable setting', () => {
  test('is reported with its flag or variable', () => {
    expect(subjectsOf(problemsOf({}, { NODE_NAME: 'node-a', MAX_NODES: 'many' }))).toEqual(['MAX_NODES "many"']);
  });

  test.each([
    [{ source: [] }, {}, '--source'],
    [{ source: ['', ' '] }, {}, '--source'],
    [{}, { SOURCES: ', \n' }, 'SOURCES'],
  ])('a list without a source is refused', (flags, env: Record<string, string>, place) => {
    expect(subjectsOf(problemsOf({ node: 'node-a', ...flags }, env))).toEqual([place]);
  });

  test.each(tables.zones)('an unknown time zone is refused: %s', (zone, exists) => {
    expect(problemsOfOne('time-zone', zone)).toHaveLength(exists ? 0 : 1);
  });

  test.each([':9090', '127.0.0.1:0', '[::]:65535', 'localhost:80'])('an invalid address is refused: %s', (address) => {
    expect(read({ 'metrics-address': address }).metricsAddress).toBe(address);
  });
});

test.each([
  ['INFO', 'info'],
  ['Debug', 'debug'],
  ['error', 'error'],
])('the log level %s, as kube-iptables-tailer takes it', (given, level) => {
  expect(readConfig({ node: 'a' }, { LOG_LEVEL: given }).logLevel).toBe(level);
  expect(readConfig({ node: 'a', 'log-level': given }, {}).logLevel).toBe(level);
});

test.each(['kube-proxy@', 'kube-proxy@.service'])(
  '%s is a template without records; its instances have records',
  (name) => {
    expect(subjectsOf(problemsOf({ node: 'a', unit: [name] }, {}))).toEqual([`--unit "${name}"`]);
    expect(readConfig({ node: 'a', unit: ['kube-proxy@node-a'] }, {}).units).toEqual(['kube-proxy@node-a.service']);
  },
);
