import { podOf } from '../../resolving/objects.ts';
import { checkAgent } from './checks/agent.ts';
import { checkApiServer } from './checks/api-server.ts';
import { checkCalico } from './checks/calico.ts';
import { checkContainerSource } from './checks/container-source.ts';
import { checkIptablesBackends } from './checks/iptables-backends.ts';
import { checkKernelSource } from './checks/kernel-source.ts';
import { checkLogBackend, checkLogNamespaces } from './checks/kernel-switches.ts';
import { checkLogRules } from './checks/log-rules.ts';
import { checkNode } from './checks/node.ts';
import { checkPodLookups } from './checks/pod-lookups.ts';
import { checkPolicies } from './checks/policies.ts';
import { checkPrefixes } from './checks/prefixes.ts';
import { checkProcRoot } from './checks/proc-root.ts';
import { checkProgramSource } from './checks/program-source.ts';
import { checkRights } from './checks/rights.ts';
import { checkSettings, sourceName } from './checks/settings.ts';
import { checkState } from './checks/state.ts';
import { lookAtFelix } from './felix.ts';
import { createLooks } from './looks.ts';
import type { Task } from './run-checks.ts';
import type { DoctorContext } from './system.ts';
import { lookAtUnits } from './units.ts';

/** All checks in the order in which they are shown. */
export function doctorTasks(options: DoctorContext): Task[] {
  const { config, problems, warnings, api, ownPod, prefixes, system } = options;
  const { node } = config;
  const { now, run, readFile } = system;
  const { pods, ownNode, view, rules, logRules, kernelLogs, kernelLog, programLogs } = createLooks(options);

  return [
    { name: 'settings', run: () => Promise.resolve(checkSettings(config, problems, warnings)) },
    { name: 'api-server', run: () => checkApiServer(api, now) },
    { name: 'node', run: () => checkNode(api, node, ownNode) },
    { name: 'rights', run: () => checkRights(api, config) },
    { name: 'pod-lookups', run: () => checkPodLookups({ api, config, ownNode, pods }) },
    { name: 'policies', run: () => checkPolicies(api, config) },
    { name: 'state', run: () => Promise.resolve(checkState({ ...system, folder: config.stateDir, node })) },
    ...kernelLogs.map(({ setting, look }) => ({
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
      run: async () => checkLogRules({ rules: await rules(), view: await view(), log: await kernelLog(), now }),
    },
    {
      name: 'prefixes',
      run: async () => checkPrefixes({ ...(await logRules()), log: await kernelLog(), prefixes, now }),
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

  async function providerId(): Promise<string | undefined> {
    if (node === '') return undefined;
    const answer = await ownNode();
    return answer.kind === 'answered' ? answer.found?.providerId : undefined;
  }
}
