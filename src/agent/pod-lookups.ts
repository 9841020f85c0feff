import type { Config } from '../config/config.ts';
import { createDirectoryFinder } from '../directory/client.ts';
import type { Connection } from '../kubernetes/connection.ts';
import type { PodRanges } from '../kubernetes/pod-finders/pod-cidr.ts';
import { createPodFinders } from '../kubernetes/pod-finders/pod-finders.ts';
import type { Clock } from '../platform/clock.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import { createFinderChain, type FinderChain, statesOf } from '../resolving/lookups/finder-chain.ts';
import { readSpreadOf } from '../series/spread.ts';
import type { Log } from '../telemetry/logger.ts';
import type { ApiProblems } from './api-problems.ts';

export interface PodLookupsOptions {
  config: Pick<Config, 'node' | 'podCache' | 'podLookups' | 'maxNodes' | 'directory'>;
  /** Names of the labels that Pods are kept with. */
  podLabels: readonly string[];
  connection: Connection;
  lists: () => Pick<LiveLists, 'directory' | 'podsHere'>;
  log: Pick<Log, 'info'>;
  problems: Pick<ApiProblems, 'directory'>;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  /** Nodes of the cluster, as far as they are known. */
  nodeCount: () => number;
}

/** How Pods of other nodes are found by their addresses; undefined where all Pods are watched, or none is to be looked up. */
export function createPodLookups({
  config,
  podLabels,
  connection,
  lists,
  log,
  problems,
  clock,
  nodeCount,
}: PodLookupsOptions): FinderChain | undefined {
  if (config.podCache === 'cluster' || config.podLookups.length === 0) return undefined;
  const finders = createPodFinders({
    ways: config.podLookups,
    connection,
    ranges: createLiveRanges(config, lists, clock),
    directory: createDirectoryFinder({ folder: config.directory, clock, random: Math.random }),
    clock,
    podLabels,
  });
  return createFinderChain(
    finders,
    // A policy may make all nodes look up their first address in the same second; this part of it can wait.
    () => void setTimeout(() => void logWays(), Math.random() * readSpreadOf(nodeCount())).unref(),
    (way, error) => {
      // The others ask the API server, whose failures are reported with all that it is asked.
      if (way === 'directory') problems.directory(error);
    },
  );

  async function logWays(): Promise<void> {
    const states = await statesOf(finders);
    const texts = (usable: boolean): string[] =>
      states.flatMap((state) => (state.usable === usable ? `${state.way} (${state.why})` : []));
    log.info({ ways: texts(true), unused: texts(false) }, 'How Pods of other nodes are looked up');
  }
}

/** Pod ranges of the Nodes that are watched, and whether the Pods of this node have addresses of its own. */
function createLiveRanges(
  { node, maxNodes }: PodLookupsOptions['config'],
  lists: PodLookupsOptions['lists'],
  { now }: Pick<Clock, 'now'>,
): PodRanges {
  return { homeOf: (address) => lists().directory.homeOf(address), followed, describe };

  function followed(): boolean | undefined {
    const here = lists().podsHere(now());
    const addresses = here.flatMap((pod) => (pod.hostNetwork ? [] : pod.addresses.slice(0, 1)));
    if (addresses.length === 0) return undefined;
    return addresses.some((address) => lists().directory.homeOf(address) === node);
  }

  function describe(): string {
    const { nodes } = lists().directory;
    const count = nodes.filter(({ podRanges }) => podRanges.length > 0).length;
    if (count === 0) return 'Nodes have no podCIDR';
    if (followed() === false) return 'the network plugin gives addresses of other ranges than podCIDR';
    const known = `podCIDR of ${count} Nodes`;
    return nodes.length === 1 ? `${known}: others are not watched (maxNodes ${maxNodes})` : known;
  }
}
