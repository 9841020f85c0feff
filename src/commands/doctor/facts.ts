/** Gathers all that checks go by, each once. A fact is a plain value, which says so itself where something could not be read. */
import type { Config } from '../../config/config.ts';
import type { Millis } from '../../model/log-line.ts';
import type { PrefixTable } from '../../parsing/parsing.ts';
import type { Pod } from '../../resolving/resolving.ts';
import {
  bpfTraceObstacle,
  kernelDropsObstacle,
  calicoFlowsObstacle,
  defaultFlowsFolder,
  defaultTracefs,
  type ProgramLog,
} from '../../sources/sources.ts';
import { type Api, findNode, findPod, type FoundNode, type Looked, podsOn, someNodes } from './api.ts';
import { askVersion, type FelixLook, lookAtFelix, lookAtWays, type VersionAnswer, type Ways } from './cluster-facts.ts';
import {
  type ContainerLook,
  type KeptState,
  lookAtContainers,
  lookAtFolder,
  lookAtProgramLog,
  type ProgramLogLook,
  readKeptState,
  type StateFolder,
} from './files.ts';
import { findUnread } from './flow-logs.ts';
import { type KernelSetting, type KernelSourceLook, lookAtKernelSources, sourceName } from './kernel-log.ts';
import { type AgentAnswer, askAgent, type Machine } from './machine.ts';
import type { NetworkView, PodName } from './own-pod.ts';
import { type PolicyRights, type Review, reviewPolicies, reviewRights } from './rights.ts';
import { readRules, type Rules } from './rules.ts';

export interface Facts {
  version: VersionAnswer;
  /** Undefined if no Node is named. */
  ownNode: Looked<FoundNode> | undefined;
  /** Names of a few Nodes. */
  nodes: readonly string[];
  /** The Pods of this node; undefined if the API server does not answer. */
  pods: readonly Pod[] | undefined;
  reviews: readonly Review[];
  /** Undefined if policies are off. */
  policyRights: PolicyRights | undefined;
  /** Undefined if none is set or needed, or no API server is known. */
  ways: Ways | undefined;
  felix: FelixLook;
  agent: AgentAnswer;
  folder: StateFolder;
  state: KeptState;
  kernelSources: readonly KernelSourceLook[];
  /** Undefined if they are not in SOURCES. */
  containers: ContainerLook | undefined;
  programLogs: readonly (ProgramLog & { look: ProgramLogLook })[];
  /** For the trace of BPF programs and the socket of Calico's flows that are in SOURCES, why they cannot be used. */
  feeds: readonly { kind: Feed; name: string; folder: string; obstacle: string | undefined }[];
  /** Logs of dropped flows that are not in SOURCES. */
  unreadFlows: readonly string[];
  view: NetworkView;
  rules: Rules;
  switches: Switches;
  /** Whether PROC_ROOT leads to a /proc. */
  hasProcRoot: boolean;
}

/** Contents of files of /proc; undefined if they cannot be read. */
export interface Switches {
  /** `nf_log_ipv4`, by the number of the address family, as the kernel names the file. */
  loggers: Readonly<Record<2 | 10, string | undefined>>;
  allNamespaces: string | undefined;
}

/** All this is known without looking. */
export interface Given {
  config: Config;
  problems: readonly string[];
  warnings: readonly string[];
  isPod: boolean;
  prefixes: PrefixTable;
  /** The time at which the facts were complete. */
  now: Millis;
}

/** A check that needs these facts gets this. */
export type Known<Fact extends keyof Facts = never> = Given & Pick<Facts, Fact>;

export type Gathered = { readonly [Fact in keyof Facts]: Promise<Facts[Fact]> };

export interface Where {
  config: Config;
  prefixes: PrefixTable;
  api: Api;
  ownPod: PodName | undefined;
  machine: Machine;
}

export const loggerFile = (family: 2 | 10): string => `/proc/sys/net/netfilter/nf_log/${family}`;

/** Begins to look everywhere at once. */
export function gatherFacts({ config, prefixes, api, ownPod, machine }: Where): Gathered {
  const { node, sources, stateDir } = config;
  const { now, readFile } = machine;
  const version = askVersion(api, now);
  const pods = podsOn(api, node);
  const ownNode = node === '' ? Promise.resolve(undefined) : findNode(api, node);
  const kernelSettings = sources.filter((setting): setting is KernelSetting =>
    ['auto', 'kernel', 'journal', 'file'].includes(setting.kind),
  );
  return {
    version,
    pods,
    ownNode,
    nodes: node === '' ? Promise.resolve([]) : someNodes(api),
    reviews: reviewRights(api, config),
    policyRights: config.policies === 'off' ? Promise.resolve(undefined) : reviewPolicies(api),
    ways: lookAtWays({ api, config, ownNode, pods }),
    felix: lookAtFelix(api, node),
    agent: askAgent(config.metricsAddress),
    view: lookAtView(),
    rules: readRules(machine),
    kernelSources: lookAtKernelSources(kernelSettings, config, prefixes, machine),
    folder: look(() => lookAtFolder(stateDir)),
    state: look(() => readKeptState(stateDir)),
    containers: look(() =>
      sources.some(({ kind }) => kind === 'containers')
        ? lookAtContainers(config.podLogs, config.containers)
        : undefined,
    ),
    programLogs: look(() =>
      programLogs().map(({ program, path }) => ({ program, path, look: lookAtProgramLog(path) })),
    ),
    feeds: look(() =>
      sources.flatMap((setting) => {
        const { kind } = setting;
        if (kind !== 'bpf-trace' && kind !== 'kernel-drops' && kind !== 'calico-flows') return [];
        const { usual, obstacleOf } = feeds[kind];
        const folder = setting.directory ?? usual;
        const obstacle = obstacleOf(folder);
        return [{ kind, name: sourceName(setting), folder, obstacle }];
      }),
    ),
    unreadFlows: look(() =>
      findUnread(sources.flatMap((setting) => ('path' in setting && setting.path !== undefined ? [setting.path] : []))),
    ),
    switches: look(() => ({
      loggers: { 2: readFile(loggerFile(2)), 10: readFile(loggerFile(10)) },
      allNamespaces: readFile('/proc/sys/net/netfilter/nf_log_all_netns'),
    })),
    hasProcRoot: look(() => procFiles.some((file) => readFile(`${config.procRoot}/${file}`) !== undefined)),
  };

  async function lookAtView(): Promise<NetworkView> {
    const seen = await machine.lookAtNetwork(config.procRoot);
    if (seen !== undefined || ownPod === undefined) return seen ?? 'pod';
    const answer = await findPod(api, ownPod);
    return answer.kind === 'answered' && answer.found?.hostNetwork === true ? 'node' : 'pod';
  }

  /** Programs write these logs themselves: those that are named, and those that `auto` finds. */
  function programLogs(): ProgramLog[] {
    const named = sources.flatMap((setting) => (setting.kind === 'program' ? [setting] : []));
    const isRead = new Set(sources.flatMap((setting) => ('path' in setting ? [setting.path] : [])));
    const found = sources.some(({ kind }) => kind === 'auto') ? machine.findPrograms() : [];
    return [...named, ...found.filter(({ path }) => !isRead.has(path))];
  }
}

export type Feed = keyof typeof feeds;

const feeds = {
  'bpf-trace': { usual: defaultTracefs, obstacleOf: bpfTraceObstacle },
  'kernel-drops': { usual: defaultTracefs, obstacleOf: (folder: string) => kernelDropsObstacle(folder) },
  'calico-flows': { usual: defaultFlowsFolder, obstacleOf: calicoFlowsObstacle },
} as const;

/** Everybody may read these, of all that may be mounted there; the second is all that conntrack-details has of the two. */
const procFiles = ['sys/kernel/osrelease', 'sys/net/netfilter/nf_conntrack_max'];

/** Makes an error a rejection, which concerns only the checks that need the fact. */
async function look<T>(read: () => T): Promise<T> {
  return await Promise.resolve(read());
}
