import type { Config } from '../../config/config.ts';
import type { Millis } from '../../model/log-line.ts';
import type { PrefixTable } from '../../parsing/netfilter/prefixes.ts';
import { podOf } from '../../resolving/program-pod.ts';
import type { Choice } from '../../sources/auto.ts';
import { zoneTime } from '../../sources/envelopes/clock.ts';
import type { ProgramLog } from '../../sources/program-log/find-logs.ts';
import type { Api } from './api.ts';
import { checkAgent } from './checks/agent.ts';
import { checkApiServer } from './checks/api-server.ts';
import { checkCalico } from './checks/calico.ts';
import { checkContainerSource } from './checks/container-source.ts';
import { checkIptablesBackends } from './checks/iptables-backends.ts';
import { checkKernelSource, type KernelSetting, locate, type LocateOptions } from './checks/kernel-source.ts';
import { checkLogBackend, checkLogNamespaces, type ReadFile } from './checks/kernel-switches.ts';
import { checkLogRules } from './checks/log-rules.ts';
import { checkNode } from './checks/node.ts';
import { checkPodLookups } from './checks/pod-lookups.ts';
import { checkPrefixes } from './checks/prefixes.ts';
import { checkProcRoot } from './checks/proc-root.ts';
import { checkProgramSource } from './checks/program-source.ts';
import { checkRights } from './checks/rights.ts';
import { checkSettings, sourceName } from './checks/settings.ts';
import { checkState } from './checks/state.ts';
import { findNode, findPod, podsOn } from './cluster-look.ts';
import type { ContainerLook } from './container-look.ts';
import { lookAtFelix } from './felix.ts';
import type { HttpGet } from './http-get.ts';
import type { KeptState, StateFolder } from './kept-state.ts';
import { type KernelLog, readKernelLog } from './kernel-log.ts';
import type { NetworkView, NetworkViewOptions } from './network-view.ts';
import type { PodName } from './own-pod.ts';
import type { ProgramLogLook } from './program-log.ts';
import type { RunProgram } from './program.ts';
import { distinctLogs, readRules, type Rules } from './rules/read-rules.ts';
import type { Task } from './run-checks.ts';
import { lookAtUnits } from './units.ts';

/** What doctor asks of the machine. Nothing of it changes anything, throws or rejects. */
export interface System {
  now: () => Millis;
  run: RunProgram;
  get: HttpGet;
  readFile: ReadFile;
  choose: () => Choice;
  findJournal: LocateOptions['findJournal'];
  lookAtContainers: (config: Pick<Config, 'podLogs' | 'containers'>) => ContainerLook;
  /** As `auto` finds them. */
  findPrograms: () => readonly ProgramLog[];
  lookAtProgramLog: (path: string) => ProgramLogLook;
  lookAtFolder: (path: string) => StateFolder;
  readKeptState: (file: string) => KeptState;
  lookAtNetwork: (options: Omit<NetworkViewOptions, 'isPod'>) => Promise<NetworkView>;
}

export interface TasksOptions {
  config: Config;
  /** Of the settings. */
  problems: readonly string[];
  warnings: readonly string[];
  api: Api;
  ownPod: PodName | undefined;
  prefixes: PrefixTable;
  system: System;
}

/** All checks in the order in which they are shown. What several of them look at is looked at once. */
export function doctorTasks({ config, problems, warnings, api, ownPod, prefixes, system }: TasksOptions): Task[] {
  const { node } = config;
  const { now, run, readFile } = system;
  const pods = once(() => podsOn(api, node));
  const ownNode = once(() => findNode(api, node));
  const view = once(() => system.lookAtNetwork({ procRoot: config.procRoot, hostNetwork }));
  const rules = once(() => readRules({ run, readFile }));
  const kernelSettings = config.sources.filter(
    ({ kind }) => kind !== 'containers' && kind !== 'program',
  ) as KernelSetting[];
  const logs = kernelSettings.map((setting) => ({ setting, look: once(() => lookAt(setting)) }));

  return [
    { name: 'settings', run: () => Promise.resolve(checkSettings(config, problems, warnings)) },
    { name: 'api-server', run: () => checkApiServer(api, now) },
    { name: 'node', run: () => checkNode(api, node, ownNode) },
    { name: 'rights', run: () => checkRights(api) },
    { name: 'pod-lookups', run: () => checkPodLookups({ api, config, ownNode, pods }) },
    { name: 'state', run: () => Promise.resolve(checkState({ ...system, folder: config.stateDir, node })) },
    ...logs.map(({ setting, look }) => ({
      name: `source ${sourceName(setting)}`,
      run: async () => {
        const { located, log } = await look();
        const check = checkKernelSource(located, log, now());
        const { source } = located;
        if (source?.kind !== 'journal' || log === undefined || 'reason' in log) return check;
        const units = await lookAtUnits({ run, directory: source.directory, names: config.units });
        return units === undefined ? check : { ...check, finding: `${check.finding}; ${units}` };
      },
    })),
    ...(config.sources.some(({ kind }) => kind === 'containers') ? [containers()] : []),
    ...programLogs().map((log) => ({
      name: `source ${sourceName({ kind: 'program', ...log })}`,
      run: () => Promise.resolve(checkProgramSource(log, system.lookAtProgramLog(log.path), now())),
    })),
    { name: 'proc-root', run: () => Promise.resolve(checkProcRoot(config.procRoot, readFile)) },
    {
      name: 'log-rules',
      run: async () => checkLogRules({ rules: await rules(), view: await view(), log: await allLogs(), now }),
    },
    {
      name: 'prefixes',
      run: async () => checkPrefixes({ rules: await ownRules(), log: await allLogs(), prefixes, now }),
    },
    { name: 'iptables-backends', run: async () => checkIptablesBackends(await rules(), await view()) },
    { name: 'nf-log', run: async () => checkLogBackend(readFile, await view()) },
    {
      name: 'nf-log-all-netns',
      run: async () => checkLogNamespaces({ readFile, view: await view(), providerId: await providerId() }),
    },
    {
      name: 'calico',
      run: async () => {
        const [felix, all] = await Promise.all([lookAtFelix(api, node, now), pods()]);
        const kubeProxyHere = all === undefined ? undefined : podOf('kube-proxy', all) !== undefined;
        return checkCalico({ ...felix, kubeProxyHere, prefixes });
      },
    },
    { name: 'agent', run: () => checkAgent(config.metricsAddress, system.get, ownPod !== undefined, now) },
  ];

  function containers(): Task {
    return {
      name: 'source containers',
      run: async () =>
        checkContainerSource({ root: config.podLogs, look: system.lookAtContainers(config), pods: await pods(), now }),
    };
  }

  /** Those that are named, and what `auto` reads, too. */
  function programLogs(): ProgramLog[] {
    const named = config.sources.flatMap((setting) => (setting.kind === 'program' ? [setting] : []));
    const isRead = new Set(config.sources.flatMap((setting) => ('path' in setting ? [setting.path] : [])));
    const found = config.sources.some(({ kind }) => kind === 'auto') ? system.findPrograms() : [];
    return [...named, ...found.filter(({ path }) => !isRead.has(path))].map(({ program, path }) => ({ program, path }));
  }

  async function lookAt(
    setting: KernelSetting,
  ): Promise<{ located: ReturnType<typeof locate>; log: KernelLog | { reason: string } | undefined }> {
    const located = locate(setting, system);
    const { source } = located;
    const zone = zoneTime(config.timeZone);
    return { located, log: source && (await readKernelLog({ source, prefixes, zone, run, now })) };
  }

  /** Rules of a Pod's own network tell nothing of the node. */
  async function ownRules(): Promise<ReturnType<typeof distinctLogs>> {
    const none: Rules = { sets: [], nftLogs: [], saw: { legacy: false, nft: false }, failures: [] };
    return distinctLogs((await view()) === 'pod' ? none : await rules());
  }

  /** Of several sources that have the same lines, the one that tells most. */
  async function allLogs(): Promise<KernelLog | undefined> {
    const looks = await Promise.all(logs.map(({ look }) => look()));
    const readable = looks.flatMap(({ log }) => (log === undefined || 'reason' in log ? [] : [log]));
    return readable.toSorted((a, b) => b.packets.length - a.packets.length || b.lines - a.lines)[0];
  }

  async function providerId(): Promise<string | undefined> {
    if (node === '') return undefined;
    const answer = await ownNode();
    return answer.kind === 'told' ? answer.found?.providerId : undefined;
  }

  async function hostNetwork(): Promise<boolean | undefined> {
    if (ownPod === undefined) return undefined;
    const answer = await findPod(api, ownPod);
    return answer.kind === 'told' ? answer.found?.hostNetwork : undefined;
  }
}

function once<T>(look: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= look());
}
