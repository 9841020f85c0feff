import { type Config, version } from '../config/config.ts';
import { type ClusterWatch, createClusterWatch } from '../kubernetes/cluster-watch.ts';
import { loadConfig } from '../kubernetes/config.ts';
import { type Connection, createConnection } from '../kubernetes/connection.ts';
import type { Clock } from '../platform/clock.ts';
import { createLiveLists, type LiveLists } from '../resolving/live-lists.ts';
import { createRemoteLookups, type RemoteLookups } from '../resolving/lookups/remote.ts';
import type { FinderChain } from '../resolving/lookups/finder-chain.ts';
import { createReverseDns } from '../resolving/lookups/reverse-dns.ts';
import type { Log } from '../telemetry/logger.ts';
import { createPodLookups } from './pod-lookups.ts';
import type { Troubles } from './troubles.ts';

/** All that the agent knows of its cluster, and how it comes to know it. */
export interface ClusterContext {
  connection: Connection;
  lists: LiveLists;
  remote: RemoteLookups;
  podLookups: FinderChain | undefined;
  cluster: ClusterWatch;
}

export interface ClusterContextOptions {
  config: Config;
  log: Log;
  troubles: Troubles;
  /** Something is known that was not. */
  onNews: () => void;
  clock: Clock;
}

/** Throws when there is no kubeconfig where one is said to be, or nothing says how to reach an API server. */
export function createClusterContext({ config, log, troubles, onNews, clock }: ClusterContextOptions): ClusterContext {
  const { now } = clock;
  const connection = createConnection({
    load: () => loadConfig(config.kubeconfig),
    userAgent: `kube-netfilter-tailer/${version} (${config.node})`,
    onRequest: troubles.request,
    clock,
  });
  const podLookups = createPodLookups({ config, connection, lists: () => lists, log, clock });
  const remote = createRemoteLookups({
    findPods: podLookups?.find,
    findHostName: config.reverseDns ? createReverseDns() : undefined,
    onChange() {
      lists.directory.changed('remote');
      onNews();
    },
    now,
  });
  const lists = createLiveLists(config.node, remote);
  const cluster = createClusterWatch({
    connection,
    lists,
    ownNode: config.node,
    podCache: config.podCache,
    limits: { nodes: config.maxNodes, services: config.maxServices, endpointSlices: config.maxEndpointSlices },
    onTrouble: troubles.informer,
    onSynced(resource) {
      troubles.synced(resource);
      if (resource === 'nodes')
        troubles.node(
          config.node,
          lists.directory.node(config.node) !== undefined,
          lists.directory.nodes.map(({ name }) => name),
        );
      onNews();
    },
    onUnusable: troubles.unusable,
    onTooMany: troubles.tooMany,
    clock,
    random: Math.random,
  });
  return { connection, lists, remote, podLookups, cluster };
}
