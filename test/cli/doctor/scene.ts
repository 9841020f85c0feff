import { checks } from '../../../src/cli/doctor/doctor.ts';
import type { CheckContext, Facts } from '../../../src/cli/doctor/facts.ts';
import type { KernelLog, KernelSourceState } from '../../../src/cli/doctor/kernel-log.ts';
import type { Check } from '../../../src/cli/doctor/report.ts';
import type { LogRule, Rules } from '../../../src/cli/doctor/rules.ts';
import type { Config } from '../../../src/agent/config/config.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';
import { readConfig } from '../../agent/config/reading.ts';
import { answered } from './fake.ts';

export const configOf = (given: Partial<Config> = {}): Config => ({
  ...readConfig({}, { NODE_NAME: 'node-a', SOURCES: 'auto,file:/a' }),
  stateDir: '/state',
  podLogs: '/pods',
  ...given,
});

/** The rules of iptables: none, all of them seen. */
export const rulesOf = (given: Partial<Rules> = {}): Rules => ({
  logs: [],
  legacy: { rules: 0, hasClusterChains: false },
  nft: { rules: 0, hasClusterChains: false },
  unseen: [],
  failures: [],
  ...given,
});

export const logRule = (prefix: string, given: Partial<LogRule> = {}): LogRule => ({
  target: 'LOG',
  prefix,
  group: undefined,
  packets: 0,
  ...given,
});

/** A file of three lines that the kernel has written. */
export const logOf = (given: Partial<KernelLog> = {}): KernelLog => ({
  lines: 3,
  from: nine - 9000,
  last: nine - 1000,
  packets: [],
  ...given,
});

/** The prefix decides the verdict, unless `verdict` is given, as ulogd may write it. */
export const packet = (
  prefix: string,
  age: number,
  verdict = createPrefixTable().look(prefix).verdict,
): KernelLog['packets'][number] => ({ prefix, verdict, time: nine - age });

export const sourceWith = (
  log: KernelSourceState['log'],
  given: Partial<KernelSourceState> = {},
): KernelSourceState[] => [{ name: 'file:/a', text: '/a', isCertain: true, log, units: undefined, ...given }];

/** Nothing is known of the node, and the cluster answers nothing. */
const unknown: Facts & CheckContext = {
  config: configOf(),
  problems: [],
  warnings: [],
  isPod: false,
  prefixes: createPrefixTable([{ prefix: 'mine', verdict: 'dropped' }]),
  now: nine,
  version: {
    server: 'https://api.example:6443',
    unusable: undefined,
    clockSkew: 300,
    answer: answered({ gitVersion: 'v1.36.3' }),
    took: 0,
  },
  ownNode: undefined,
  nodes: [],
  pods: [],
  reviews: [],
  guard: undefined,
  policyRights: undefined,
  ways: undefined,
  ciliumEvents: undefined,
  strangeRuleNames: undefined,
  felix: {
    felix: { kind: 'absent' },
    logPrefix: undefined,
    flows: undefined,
    objectWith: () => 'default',
    defaultSpec: undefined,
  },
  agent: { kind: 'nowhere' },
  folder: { kind: 'writable', free: 1e9 },
  state: { kind: 'none' },
  kernelSources: [],
  containers: undefined,
  programLogs: [],
  unreadFlows: [],
  view: 'initial',
  rules: rulesOf(),
  logsAllNamespaces: false,
  feeds: [],
  hasProcRoot: false,
};

/** Returns the findings of the row of that name for these facts. */
export function found(name: string, given: Partial<Facts & CheckContext> = {}): Check[] {
  const row = checks.find((each) => each.name === name);
  if (row === undefined) throw new Error(`there is no check ${name}`);
  return [row.check({ ...unknown, ...given })].flat();
}

export const versionOf = (given: Partial<Facts['version']>): Pick<Facts, 'version'> => ({
  version: { ...unknown.version, ...given },
});
