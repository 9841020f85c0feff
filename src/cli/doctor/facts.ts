/** Gathers the facts for all checks, each once. A fact is a plain value; if something could not be read, the value says so. */
import type { Config, SourceSetting } from '../../agent/config/config.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PrefixTable } from '../../read/parsing/parsing.ts';
import {
  defaultTracefs,
  bpfTraceObstacle,
  connectionsObstacleOf,
  kernelDropsObstacle,
  defaultFlowsFolder,
  calicoFlowsObstacle,
  hasHistograms,
  type ProgramLog,
} from '../../read/sources/sources.ts';
import {
  type Api,
  askVersion,
  type FelixFacts,
  findNode,
  findPod,
  type FindResult,
  lookAtFelix,
  lookAtFinders,
  type LookupFinderState,
  type NodeWithProvider,
  podsOn,
  type ServerVersion,
  someNodes,
} from './api.ts';
import type { Pod } from '../../explain/resolving/resolving.ts';
import { lookForStrangeRuleNames, type StrangeRuleNames } from './antrea-rules.ts';
import { type CiliumEvents, lookAtCiliumEvents } from './cilium-events.ts';
import { type KernelSetting, type KernelSourceState, lookAtKernelSources, sourceName } from './kernel-log.ts';
import {
  type AgentAnswer,
  askAgent,
  type ContainerLogs,
  findUnread,
  lookAtContainers,
  lookAtFolder,
  lookAtProgramLog,
  type Machine,
  type NetworkView,
  type PodName,
  type ProgramLogState,
  readKeptState,
  type SavedState,
  type StateFolder,
} from './machine.ts';
import { type Guard, tryGuard } from './guard.ts';
import { type PolicyRights, type Review, reviewPolicies, reviewRights } from './rights.ts';
import { readFirewallRules, type Rules } from './rules.ts';

/** The results of look-ups. A fact is undefined if it is switched off or not needed. */
export interface Facts {
  readonly version: ServerVersion;
  /** The Pods of this node; undefined if they cannot be listed. */
  readonly pods: readonly Pod[] | undefined;
  readonly ownNode: FindResult<NodeWithProvider> | undefined;
  /** Names of a few Nodes. */
  readonly nodes: readonly string[];
  readonly reviews: readonly Review[];
  /** Undefined outside a Pod: others have their own token. */
  readonly guard: Guard | undefined;
  readonly policyRights: PolicyRights | undefined;
  readonly ways: readonly LookupFinderState[] | undefined;
  readonly felix: FelixFacts;
  readonly ciliumEvents: CiliumEvents;
  readonly strangeRuleNames: StrangeRuleNames;
  readonly agent: AgentAnswer;
  readonly view: NetworkView;
  readonly rules: Rules;
  readonly kernelSources: readonly KernelSourceState[];
  readonly folder: StateFolder;
  readonly state: SavedState;
  readonly containers: ContainerLogs | undefined;
  readonly programLogs: readonly ProgramLogFact[];
  readonly feeds: readonly Feed[];
  /** Existing logs of dropped flows that are not in SOURCES. */
  readonly unreadFlows: readonly string[];
  /** Whether rules of all network namespaces log, not only of the first one. */
  readonly logsAllNamespaces: boolean;
  readonly hasProcRoot: boolean;
}

/** Look-ups of facts, each under way. */
export type FactLookups = { readonly [Fact in keyof Facts]: Promise<Facts[Fact]> };

/** The log of a program that writes it itself. */
export interface ProgramLogFact {
  program: string;
  path: string;
  look: ProgramLogState;
}

/** A source that is not a log of lines. */
export interface Feed {
  kind: keyof typeof feeds;
  name: string;
  folder: string;
  /** Why it cannot be read; undefined if it can. */
  obstacle: string | undefined;
  /** Whether reasons of drops are counted; undefined for other kinds. */
  countsReasons: boolean | undefined;
  /** Why failed connections cannot be read; undefined if they can, and for other kinds. */
  connectionsObstacle: string | undefined;
}

/** Facts that need no look-up. */
export interface CheckContext {
  config: Config;
  problems: readonly string[];
  warnings: readonly string[];
  isPod: boolean;
  prefixes: PrefixTable;
  /** The time at which the facts were complete. */
  now: Millis;
}

/** The argument of a check. A fact that could not be had in time throws when it is read. */
export type CheckInput = CheckContext & Facts;

export interface FactOptions extends Pick<CheckContext, 'config' | 'prefixes'> {
  api: Api;
  ownPod: PodName | undefined;
  machine: Machine;
}

/** Starts all look-ups at once. */
export function gatherFacts({ config, prefixes, api, ownPod, machine }: FactOptions): FactLookups {
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
    nodes: node === '' ? Promise.resolve<string[]>([]) : someNodes(api),
    reviews: reviewRights(api, config),
    guard: ownPod === undefined ? Promise.resolve(undefined) : tryGuard(api, ownPod, now()),
    policyRights: config.policies === 'off' ? Promise.resolve(undefined) : reviewPolicies(api),
    ways: lookAtFinders({ api, config, ownNode, pods }),
    felix: lookAtFelix(api, node),
    ciliumEvents: lookAtCiliumEvents(api),
    strangeRuleNames: lookForStrangeRuleNames(api),
    agent: askAgent(config.metricsAddress),
    view: lookAtView(),
    rules: readFirewallRules(machine),
    kernelSources: lookAtKernelSources(kernelSettings, config, prefixes, machine),
    folder: Promise.try(lookAtFolder, stateDir),
    state: Promise.try(readKeptState, stateDir),
    containers: Promise.try(() =>
      sources.some(({ kind }) => kind === 'containers')
        ? lookAtContainers(config.podLogs, config.containers)
        : undefined,
    ),
    programLogs: Promise.try(() =>
      programLogs().map(({ program, path }) => ({ program, path, look: lookAtProgramLog(path) })),
    ),
    feeds: Promise.try(() => sources.flatMap(lookAtFeed)),
    unreadFlows: Promise.try(() => findUnread(sources.flatMap((setting) => ('path' in setting ? [setting.path] : [])))),
    logsAllNamespaces: Promise.try(() => readFile('/proc/sys/net/netfilter/nf_log_all_netns') === '1'),
    hasProcRoot: Promise.try(() => procFiles.some((file) => readFile(`${config.procRoot}/${file}`) !== undefined)),
  };

  async function lookAtView(): Promise<NetworkView> {
    const seen = await machine.lookAtNetwork(config.procRoot);
    if (seen !== undefined || ownPod === undefined) return seen ?? 'pod';
    const answer = await findPod(api, ownPod);
    return answer.kind === 'answered' && answer.found?.hostNetwork === true ? 'node' : 'pod';
  }

  /** Lists the logs that programs write themselves: those in SOURCES, and those that `auto` finds. */
  function programLogs(): ProgramLog[] {
    const named = sources.flatMap((setting) => (setting.kind === 'program' ? [setting] : []));
    const isRead = new Set(sources.flatMap((setting) => ('path' in setting ? [setting.path] : [])));
    const found = sources.some(({ kind }) => kind === 'auto') ? machine.findPrograms() : [];
    return [...named, ...found.filter(({ path }) => !isRead.has(path))];
  }
}

function lookAtFeed(setting: SourceSetting): Feed[] {
  const { kind } = setting;
  if (kind !== 'bpf-trace' && kind !== 'kernel-drops' && kind !== 'calico-flows') return [];
  const { usual, obstacleOf } = feeds[kind];
  const folder = setting.directory ?? usual;
  const ofKernelDrops =
    kind === 'kernel-drops'
      ? { countsReasons: hasHistograms(folder), connectionsObstacle: connectionsObstacleOf(folder) }
      : { countsReasons: undefined, connectionsObstacle: undefined };
  return [{ kind, name: sourceName(setting), folder, obstacle: obstacleOf(folder), ...ofKernelDrops }];
}

const feeds = {
  'bpf-trace': { usual: defaultTracefs, obstacleOf: bpfTraceObstacle },
  'kernel-drops': { usual: defaultTracefs, obstacleOf: (folder: string) => kernelDropsObstacle(folder) },
  'calico-flows': { usual: defaultFlowsFolder, obstacleOf: calicoFlowsObstacle },
} as const;

/** Any user may read these files. The component conntrack-details mounts only the second. */
const procFiles = ['sys/kernel/osrelease', 'sys/net/netfilter/nf_conntrack_max'];
