import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkContainerSource } from '../../../src/commands/doctor/checks/container-source.ts';
import { checkIptablesBackends } from '../../../src/commands/doctor/checks/iptables-backends.ts';
import { checkKernelSource, type KernelSetting, locate } from '../../../src/commands/doctor/checks/kernel-source.ts';
import { checkLogBackend, checkLogNamespaces } from '../../../src/commands/doctor/checks/kernel-switches.ts';
import { checkLogRules } from '../../../src/commands/doctor/checks/log-rules.ts';
import { checkPrefixes } from '../../../src/commands/doctor/checks/prefixes.ts';
import { checkProcRoot } from '../../../src/commands/doctor/checks/proc-root.ts';
import { checkProgramSource } from '../../../src/commands/doctor/checks/program-source.ts';
import { checkState } from '../../../src/commands/doctor/checks/state.ts';
import type { ContainerLook } from '../../../src/commands/doctor/container-look.ts';
import type { KernelLog } from '../../../src/commands/doctor/kernel-log.ts';
import type { System } from '../../../src/commands/doctor/system.ts';
import type { LogRule } from '../../../src/commands/doctor/rules/log-rule.ts';
import type { Rules } from '../../../src/commands/doctor/rules/read-rules.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { nine, pod } from '../../builders.ts';
import { fakeSystem } from './fake.ts';

const now = (): number => nine;
const log = (given: Partial<KernelLog> = {}): KernelLog => ({
  lines: 3,
  from: nine - 9000,
  last: nine - 1000,
  packets: [],
  ...given,
});
const packet = (prefix: string, age: number): KernelLog['packets'][number] => ({
  prefix,
  verdict: 'dropped',
  rule: '',
  time: nine - age,
});

/** Returns all sentences of the checks of this node, in every situation that changes one of them. */
export function sayingsOfNode(): Check[] {
  return [
    ...kernelSources(),
    ...containers(),
    ...programs(),
    ...states(),
    ...rules(),
    ...prefixes(),
    ...switches(),
    ...checkProcRoot('/host/proc', () => '1'),
    ...checkProcRoot('/host/proc', () => undefined),
  ];
}

function kernelSources(): Check[] {
  const options = { choose: fakeSystem().choose, findJournal: fakeSystem().findJournal };
  const file: KernelSetting = { kind: 'file', path: '/a' };
  const check = (setting: KernelSetting, look: Parameters<typeof checkKernelSource>[1]): Check =>
    checkKernelSource(locate(setting, options), look, nine);
  return [
    check(file, log()),
    check(file, log({ lines: 1, from: undefined, last: undefined, packets: [packet('', 2000)] })),
    check(file, { reason: 'no such file' }),
    check(file, log({ lines: 0 })),
    check(file, log({ last: nine + 7_200_000 })),
    check({ kind: 'kernel' }, log()),
    check({ kind: 'auto' }, undefined),
    check({ kind: 'auto' }, log()),
    check({ kind: 'journal', directory: '/j' }, undefined),
  ];
}

function containers(): Check[] {
  const proxy = pod({ namespace: 'kube-system', name: 'kube-proxy-x7k2p', hostNetwork: true });
  const written = { path: '/pods/x', namespace: 'kube-system', pod: 'kube-proxy-x7k2p', container: 'kube-proxy' };
  const check = (look: ContainerLook, pods: (typeof proxy)[] | undefined = []): Check =>
    checkContainerSource({ root: '/pods', look, pods, now });
  const logs = (state: object): ContainerLook => ({ kind: 'logs', logs: [{ ...written, state } as never] });
  return [
    check({ kind: 'missing' }),
    check({ kind: 'error', reason: '/pods: permission denied' }),
    check(logs({ reason: 'permission denied' })),
    check({ kind: 'logs', logs: [] }, [proxy]),
    check({ kind: 'logs', logs: [] }),
    checkContainerSource({ root: '/pods', look: { kind: 'logs', logs: [] }, pods: undefined, now }),
    check(logs({ written: nine - 5000 }), [proxy]),
  ];
}

const checkedProgram = (look: Parameters<typeof checkProgramSource>[1]): Check =>
  checkProgramSource({ program: 'k3s', path: '/a' }, look, nine);

function programs(): Check[] {
  return [
    checkedProgram({ kind: 'written', at: nine - 5000 }),
    checkedProgram({ kind: 'missing', reason: '(its reason)' }),
    checkedProgram({ kind: 'unreadable', reason: '(its reason)' }),
  ];
}

const checkedState = (given: Partial<System>): Check =>
  checkState({ ...fakeSystem(given), folder: '/state', node: 'node-a' });

function states(): Check[] {
  const kept = {
    kind: 'kept',
    saved: nine - 90_000,
    node: 'node-a',
    lastDrop: nine - 3000,
    lastEvent: undefined,
  } as const;
  return [
    checkedState({}),
    checkedState({ readKeptState: () => kept }),
    checkedState({ readKeptState: () => ({ ...kept, node: 'b' }) }),
    checkedState({ readKeptState: () => ({ kind: 'unusable', reason: '(its reason)' }) }),
    checkedState({ readKeptState: () => ({ kind: 'unreadable', reason: '(its reason)' }) }),
    checkedState({ lookAtFolder: () => ({ kind: 'missing', free: 1e9 }) }),
    checkedState({ lookAtFolder: () => ({ kind: 'writable', free: 2e6 }) }),
    checkedState({ lookAtFolder: () => ({ kind: 'refused', reason: '(its reason)' }) }),
  ];
}

const logRule = (prefix: string, given: Partial<LogRule> = {}): LogRule => ({
  target: 'LOG',
  prefix,
  group: undefined,
  packets: 0,
  ...given,
});

const lately = (age: number): KernelLog => log({ packets: [packet('a', age)] });

const ruleSet = (backend: 'legacy' | 'nft', count: number, hasClusterChains = false): Rules['sets'][number] => ({
  backend,
  rules: count,
  hasClusterChains,
  logs: [],
});

const rulesWith = (given: Partial<Rules>): Rules => ({
  sets: [],
  nftLogs: [],
  saw: { legacy: true, nft: true },
  failures: [],
  ...given,
});

function rules(): Check[] {
  const logging = rulesWith({ nftLogs: [logRule('a'), logRule('b', { target: 'NFLOG', group: 1 })] });
  const unseen = rulesWith({
    saw: { legacy: false, nft: false },
    failures: [{ program: 'nft', reason: 'Permission denied' }],
  });
  return [
    checkLogRules({ rules: logging, view: 'initial', log: undefined, now }),
    checkLogRules({ rules: rulesWith({}), view: 'initial', log: undefined, now }),
    checkLogRules({ rules: rulesWith({}), view: 'initial', log: lately(3000), now }),
    checkLogRules({ rules: unseen, view: 'initial', log: undefined, now }),
    checkLogRules({ rules: rulesWith({}), view: 'pod', log: undefined, now }),
    checkLogRules({ rules: rulesWith({}), view: 'pod', log: lately(3000), now }),
    checkLogRules({ rules: rulesWith({}), view: 'pod', log: lately(7_200_000), now }),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('legacy', 0), ruleSet('nft', 4)] }), 'initial'),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('legacy', 1), ruleSet('nft', 0)] }), 'initial'),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('nft', 0)] }), 'initial'),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('legacy', 1), ruleSet('nft', 2, true)] }), 'initial'),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('legacy', 1, true), ruleSet('nft', 2, true)] }), 'initial'),
    checkIptablesBackends(rulesWith({ sets: [ruleSet('legacy', 1)] }), 'initial'),
    checkIptablesBackends(unseen, 'initial'),
    checkIptablesBackends(rulesWith({}), 'pod'),
  ];
}

function prefixes(): Check[] {
  const table = createPrefixTable([{ prefix: 'mine', verdict: 'dropped' }]);
  const check = (found: readonly LogRule[], look: KernelLog | undefined, areAll = false): Check[] =>
    checkPrefixes({ rules: found, areAll, log: look, prefixes: table, now });
  const seen = (...given: string[]): KernelLog => log({ packets: given.map((prefix) => packet(prefix, 60_000)) });
  const many = Array.from({ length: 20 }, (_, index) => logRule(`drop-${index}`));
  return [
    ...check([logRule('my-drop: ')], seen('my-drop:', 'my-drop:')),
    ...check([logRule('my-drop: ')], undefined),
    ...check([logRule('calico-drop: ')], log()),
    ...check([], seen('[UFW BLOCK]')),
    ...check([logRule('mine ')], undefined),
    ...check([logRule('allow ')], undefined),
    ...check([logRule('nft-reject ')], undefined),
    ...check([logRule('AUDIT x')], undefined),
    ...check([logRule('calico-packet: ')], seen('calico-packet:')),
    ...check([], seen('other:')),
    ...check([], seen('other:'), true),
    ...check([], seen('calico-drop:'), true),
    ...check([logRule("a';b")], undefined),
    ...check([logRule('')], undefined),
    ...check([logRule('DROP by policy', { target: 'NFLOG', group: 100 })], log()),
    ...check([logRule('my-drop: ', { packets: 1 })], log()),
    ...check([logRule('my-drop: ', { packets: 3 })], log()),
    ...check(many, undefined).slice(-1),
  ];
}

const namespaces = (view: 'initial' | 'node' | 'pod', value?: string, providerId?: string): Check =>
  checkLogNamespaces({ readFile: () => value, view, providerId });

function switches(): Check[] {
  const loggers = ['nf_log_ipv4', 'nf_log_syslog', 'NONE', 'nfnetlink_log', undefined];
  return [
    ...loggers.flatMap((logger) => checkLogBackend(() => logger, 'initial')),
    ...checkLogBackend(() => undefined, 'pod'),
    namespaces('initial', '0'),
    namespaces('initial', '1'),
    namespaces('node'),
    namespaces('pod'),
    namespaces('pod', undefined, 'kind://docker/kind/kind-worker'),
    namespaces('pod', undefined, 'aws:///eu-central-1a/i-0123456789abcdef0'),
  ];
}
