import type { EventEmitter } from 'node:events';
import { type Config, version } from './config/config.ts';
import {
  type ClusterWatch,
  type Connection,
  createClusterWatch,
  createConnection,
  createPodFinders,
  findAccess,
  type PodRanges,
  type WatchedResource,
} from './kubernetes/kubernetes.ts';
import type { Clock } from '../base/platform/clock.ts';
import type { MemoryBudget } from '../base/platform/memory-budget.ts';
import {
  createFinderChain,
  createKeptPods,
  createLiveLists,
  createRemoteLookups,
  createReverseDns,
  defaultLiveLimits,
  type FinderChain,
  type KeptPods,
  type LiveLists,
  type RemoteLookups,
} from '../explain/resolving/resolving.ts';
import type { RestoredState } from '../publish/state/state.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { type ApiProblems, isFailedRequest, type ProblemCounts } from './problems.ts';
import { createDirectoryFinder } from './directory/directory.ts';

export { createMemory } from './memory.ts';

/** `cluster`: the owner of an address may be known now. `due`: an Event has become due earlier. */
export type ChangeEvents = EventEmitter<{ cluster: []; due: [] }>;

/** The objects of the cluster that the agent keeps. */
export interface ClusterContext {
  readonly connection: Connection;
  readonly lists: LiveLists;
  readonly memory: MemoryBudget;
  /** The Pods that are saved on disk, and those of an earlier run. */
  readonly keptPods: KeptPods;
  /** Look-ups of addresses that the lists do not have. */
  readonly remote: RemoteLookups;
  /** The ways to ask for the Pod of an address; undefined if none is used. */
  readonly podLookups: FinderChain | undefined;
  readonly cluster: ClusterWatch;
  /** Whether flows of the Namespace must not be shown. Until Namespaces are listed, each has opted out. */
  readonly hasOptedOut: (namespace: string) => boolean;
}

export interface ClusterContextOptions {
  config: Config;
  restored: RestoredState;
  connection: Connection;
  problems: ApiProblems;
  changes: ChangeEvents;
  clock: Clock;
  memory: MemoryBudget;
}

export interface ConnectOptions {
  kubeconfig: string | undefined;
  /** The client's name in the API server's log: the node of an agent, or `directory POD`. */
  who: string;
  metrics: Metrics;
  counts: ProblemCounts;
  clock: Clock;
}

/** Rejects if no API server is configured, or the kubeconfig cannot be used. */
export async function connect({ kubeconfig, who, metrics, counts, clock }: ConnectOptions): Promise<Connection> {
  return createConnection({
    access: await findAccess(kubeconfig),
    userAgent: `kube-netfilter-tailer/${version} (${who})`,
    onRequest({ verb, resource, code, took }) {
      metrics.apiRequests.add(1, { verb, resource, code: String(code) });
      metrics.apiRequestSeconds.observe(took / 1000, { verb });
      if (isFailedRequest({ verb, code })) counts.requestsFailed++;
    },
    clock,
  });
}

export function createClusterContext(options: ClusterContextOptions): ClusterContext {
  const { config, restored, connection, problems, changes, clock } = options;
  const { now } = clock;
  const podLabels = config.audit.length > 0 ? config.auditLabels : [];
  const podLookups = createPodLookups(options, podLabels, () => lists);
  const remote = createRemoteLookups({
    findPods: podLookups?.find,
    findHostName: config.reverseDns ? createReverseDns() : undefined,
    hasAllPods: config.podCache === 'cluster',
    onChange() {
      lists.endpoints.changed('remote');
      changes.emit('cluster');
    },
    now,
    memory: options.memory,
  });
  const keptPods = createKeptPods(config.node, restored.state?.pods, clock);
  const lists = createLiveLists(config.node, remote, defaultLiveLimits, keptPods, options.memory);
  const optedOut = new Set<string>();
  const cluster = createClusterWatch({
    connection,
    lists,
    ownNode: config.node,
    podCache: config.podCache,
    podLabels,
    limits: { nodes: config.maxNodes, services: config.maxServices, endpointSlices: config.maxEndpointSlices },
    optedOut: asksForOptOuts(config) ? optedOut : undefined,
    report: { ...problems, synced },
    clock,
    random: Math.random,
  });
  const hasOptedOut = (namespace: string): boolean => !cluster.watches('namespaces') || optedOut.has(namespace);
  return { connection, lists, memory: options.memory, keptPods, remote, podLookups, cluster, hasOptedOut };

  function synced(resource: WatchedResource): void {
    problems.synced(resource);
    if (resource === 'pods') lists.podsListed();
    if (resource === 'nodes')
      problems.node(
        config.node,
        lists.endpoints.node(config.node) !== undefined,
        lists.endpoints.nodes.map(({ name }) => name),
      );
    changes.emit('cluster');
  }
}

/** Only the audit and the live flows respect opt-outs. */
function asksForOptOuts({ audit, dropsAddress, auditOptOut }: Config): boolean {
  return auditOptOut && (audit.length > 0 || dropsAddress !== undefined);
}

function createPodLookups(
  { config, connection, problems, clock }: ClusterContextOptions,
  podLabels: readonly string[],
  lists: () => LiveLists,
): FinderChain | undefined {
  if (config.podCache === 'cluster' || config.podLookups.length === 0) return undefined;
  const directory = createDirectoryFinder({ folder: config.directory, clock, random: Math.random });
  const ranges = createLiveRanges(config.node, lists, clock.now);
  const finders = createPodFinders(config.podLookups, directory, { connection, ranges, clock, podLabels });
  return createFinderChain(finders, (way, error) => {
    // The connection already reports failures of the API server.
    if (way === 'directory') problems.directory(error);
  });
}

function createLiveRanges(node: string, lists: () => LiveLists, now: Clock['now']): PodRanges {
  return { homeOf: (address) => lists().endpoints.homeOf(address), followed };

  function followed(): boolean | undefined {
    const here = lists().podsHere(now());
    const addresses = here.flatMap((pod) => (pod.hostNetwork ? [] : pod.addresses.slice(0, 1)));
    if (addresses.length === 0) return undefined;
    return addresses.some((address) => lists().endpoints.homeOf(address) === node);
  }
}
