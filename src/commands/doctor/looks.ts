import { zoneTime } from '../../sources/envelopes/clock.ts';
import type { ProgramLog } from '../../sources/program-log/find-logs.ts';
import { type KernelSetting, type Located, locate } from './checks/kernel-source.ts';
import type { PrefixesOptions } from './checks/prefixes.ts';
import { findNode, findPod, podsOn } from './cluster-look.ts';
import { type KernelLog, readKernelLog } from './kernel-log.ts';
import { distinctLogs, readRules } from './rules/read-rules.ts';
import type { DoctorContext } from './system.ts';

interface KernelLogLook {
  located: Located;
  log: KernelLog | { reason: string } | undefined;
}

/** What several checks look at; each is looked at once, when the first of them asks. */
export function createLooks({ config, api, ownPod, prefixes, system }: DoctorContext) {
  const { node, sources, procRoot } = config;
  const { now, run, readFile } = system;
  const view = once(() => system.lookAtNetwork({ procRoot, hostNetwork }));
  const rules = once(() => readRules({ run, readFile }));
  const settings = sources.filter(({ kind }) => kind !== 'containers' && kind !== 'program') as KernelSetting[];
  const kernelLogs = settings.map((setting) => ({ setting, look: once(() => lookAt(setting)) }));

  return {
    pods: once(() => podsOn(api, node)),
    ownNode: once(() => findNode(api, node)),
    view,
    rules,
    kernelLogs,
    /** Rules of this node that log, and whether these are all; none where only a Pod's own network is seen. */
    logRules: async (): Promise<Pick<PrefixesOptions, 'rules' | 'areAll'>> => {
      if ((await view()) === 'pod') return { rules: [], areAll: false };
      const { saw } = await rules();
      return { rules: distinctLogs(await rules()), areAll: saw.legacy && saw.nft };
    },
    /** Of several sources that have the same lines, the one with the most. */
    kernelLog: async (): Promise<KernelLog | undefined> => {
      const looks = await Promise.all(kernelLogs.map(({ look }) => look()));
      const readable = looks.flatMap(({ log }) => (log === undefined || 'reason' in log ? [] : [log]));
      return readable.toSorted((a, b) => b.packets.length - a.packets.length || b.lines - a.lines)[0];
    },
    /** Logs that programs write themselves: those that are named, and those that `auto` finds. */
    programLogs: (): ProgramLog[] => {
      const named = sources.flatMap((setting) => (setting.kind === 'program' ? [setting] : []));
      const isRead = new Set(sources.flatMap((setting) => ('path' in setting ? [setting.path] : [])));
      const found = sources.some(({ kind }) => kind === 'auto') ? system.findPrograms() : [];
      return [...named, ...found.filter(({ path }) => !isRead.has(path))];
    },
  };

  async function lookAt(setting: KernelSetting): Promise<KernelLogLook> {
    const located = locate(setting, system);
    const { source } = located;
    const zone = zoneTime(config.timeZone);
    return { located, log: source && (await readKernelLog({ source, prefixes, zone, run, now })) };
  }

  async function hostNetwork(): Promise<boolean | undefined> {
    if (ownPod === undefined) return undefined;
    const answer = await findPod(api, ownPod);
    return answer.kind === 'answered' ? answer.found?.hostNetwork : undefined;
  }
}

function once<T>(look: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= look());
}
