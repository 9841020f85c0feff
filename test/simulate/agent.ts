import { createEventWriter } from '../../src/publish/events/event-writer.ts';
import { createWriteBudget } from '../../src/publish/events/write-budget.ts';
import { createPublisher } from '../../src/publish/events/publisher.ts';
import { createNodeIncidents } from '../../src/explain/incidents/incidents.ts';
import type { IncidentChange } from '../../src/explain/incidents/incident.ts';
import { createClusterWatch } from '../../src/agent/kubernetes/cluster-watch.ts';
import type { Connection } from '../../src/agent/kubernetes/connection.ts';
import { createEventStore } from '../../src/agent/kubernetes/written-objects.ts';
import { createFelixReader } from '../../src/agent/kubernetes/incident-facts.ts';
import { createCalicoBlockFinder } from '../../src/agent/kubernetes/calico-block.ts';
import type { Endpoint, Ends } from '../../src/base/model/endpoint.ts';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { StateChange } from '../../src/base/platform/keyed-changes.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { createLookupQueue } from '../../src/count/pipeline/lookup-queue.ts';
import { messageOf } from '../../src/count/pipeline/message.ts';
import { createPipeline, type Pipeline } from '../../src/count/pipeline/pipeline.ts';
import { createStatistics } from '../../src/count/pipeline/statistics.ts';
import { createTimer } from '../../src/base/platform/timer.ts';
import { nodeRefOf } from '../../src/explain/resolving/endpoint-finder.ts';
import { createLiveLists } from '../../src/explain/resolving/live-lists.ts';
import { createFinderChain } from '../../src/explain/resolving/lookups/lookup.ts';
import { createRemoteLookups, type RemoteLookups } from '../../src/explain/resolving/lookups/remote.ts';
import { podOfProgram } from '../../src/explain/resolving/objects.ts';
import { readSpreadOf, spreadOf } from '../../src/count/series/times.ts';
import { createSeriesTable } from '../../src/count/series/series.ts';
import { createKeptState, readKeptValues } from '../../src/publish/state/kept-state.ts';
import { applyChange } from '../../src/publish/state/read-segments.ts';
import { textOfChange } from '../../src/publish/state/segments.ts';
import type { AgentState } from '../../src/publish/state/state.ts';
import type { LoggedLine } from './lines.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimulatedAgentOptions {
  node: string;
  connection: Connection;
  time: VirtualTime;
  random: () => number;
  /** The state that `stop` of an earlier agent returned. */
  restored: AgentState | undefined;
  /** A Pod of this node lost a packet. */
  onDrop: (uid: string, at: Millis) => void;
  onIncident: (change: IncidentChange, pods: readonly { uid: string; hostNetwork: boolean }[]) => void;
}

/** The same limits as in src/agent. */
const seriesLimits = { perObject: 8, total: 5000 };
const waitingFlows = 4096;
const housekeepingInterval: Millis = 5000;
const grace: Millis = 10_000;
const limits = { nodes: 200, services: 5000, endpointSlices: 1000 };
/** Node.js's longest timer: silence does not matter in virtual time. */
const never: Millis = 2 ** 31 - 1;

const prefixes = createPrefixTable([]);

export type SimulatedAgent = ReturnType<typeof createSimulatedAgent>;

/** The agent of one node without sources, disk, metrics and log; everything else is real, in virtual time. */
export function createSimulatedAgent(options: SimulatedAgentOptions) {
  const { node, connection, time, random, restored } = options;
  const { clock, now, schedule, pause } = time;
  const stateId = restored?.id ?? node;
  const remote = lazyLookups(() => {
    const chain = createFinderChain([createCalicoBlockFinder({ connection, clock })], () => {});
    return createRemoteLookups({ findPods: chain.find, findHostName: undefined, onChange, now });
  });
  const lists = createLiveLists(node, remote);
  const cluster = createClusterWatch({
    connection,
    lists,
    ownNode: node,
    podCache: 'node',
    limits,
    report: {
      watchFailed: () => {},
      synced: onChange,
      unusable(_, error) {
        throw error;
      },
      tooMany: () => {},
    },
    clock,
    random,
    pause,
    silence: never,
  });
  const table = createSeriesTable({
    limits: seriesLimits,
    restored: restored?.series,
    now,
    onEarlier: () => publisher.wake(),
    spread: (series) => random() * spreadOf(series, cluster.nodeCount),
  });
  const felix = createFelixReader(connection, node, now);
  const incidents = createNodeIncidents({
    node,
    nodeRef: () => nodeRefOf(lists.endpoints, node),
    findPod: (failing) => podOfProgram(failing, lists.podsHere(now())),
    podsHere: () => lists.podsHere(now()),
    chains: { ownerOf: (chain) => lists.chains.ownerOf(chain), backendsOf: () => [] },
    facts: {
      kernel: '6.8.0',
      kubeProxyHere: () => true,
      asked: {
        felix: () => felix.read(),
        felixDelay: () => random() * readSpreadOf(cluster.nodeCount),
        schedule,
      },
    },
    count: table.count,
    isReady: () => cluster.synced,
    onChange: (change) => options.onIncident(change, lists.podsHere(now())),
    restored: restored?.incidents,
  });
  const queue = createLookupQueue(waitingFlows, restored?.waiting);
  const counts = { table, incidents };
  const budget = createWriteBudget({
    nodeCount: () => cluster.nodeCount,
    random,
    restored: restored?.budget,
    monotonic: now,
  });
  const keptState = createKeptState({
    agent: { id: stateId, node },
    sources: [],
    dedupe: { state: () => ({}) },
    table,
    queue,
    incidents,
    budget,
  });
  const publisher = createPublisher({
    table,
    keep: async () => void table.takeChanges(),
    write: createEventWriter({
      store: createEventStore(connection),
      messageOf: (series) => messageOf(series),
      stateId,
      now,
    }),
    report: { attempted: () => {}, abandoned: () => {} },
    budget,
    now,
    schedule,
    random,
  });
  /** Every five seconds of its own clock, whenever it was started; only if there is something to do. */
  const phase = now() + Math.floor(random() * housekeepingInterval);
  const housekeeping = createTimer(schedule, now, doPeriodicWork);
  let made: Pipeline | undefined;

  return {
    start(): void {
      cluster.start();
      void publisher.run();
    },
    take({ text, source, origin }: LoggedLine, at: Millis): void {
      pipeline().take({ source, line: 0, text, time: at, timeIsExact: true, host: node }, origin);
      if (origin === 'container') planHousekeeping(0);
    },
    /** Ends it as SIGTERM does; returns its state as the disk would hold it. */
    async stop(): Promise<AgentState> {
      made?.stop();
      housekeeping.cancel();
      await publisher.stop(grace);
      cluster.stop();
      const values = new Map<string, unknown>();
      for (const kept of keptState.all()) {
        const change = JSON.parse(textOfChange(kept)) as StateChange | readonly ['clear'];
        if (change[0] !== 'clear') applyChange(change, values);
      }
      return readKeptValues(values) as unknown as AgentState;
    },
  };

  function onChange(): void {
    lists.endpoints.changed('remote');
    if (queue.size > 0) pipeline().review();
    planHousekeeping(0);
  }

  function planHousekeeping(due: Millis): void {
    if (due === Infinity) return;
    const rounds = Math.ceil((Math.max(due, now() + 1) - phase) / housekeepingInterval);
    housekeeping.setEarliest(Math.max(0, phase + rounds * housekeepingInterval - now()));
  }

  function doPeriodicWork(): void {
    if (incidents.nextTick() <= now()) incidents.tick(now());
    planHousekeeping(incidents.nextTick());
  }

  /** Made late, because its memory of flows is large and most nodes of a scenario have no flows. */
  function pipeline(): Pipeline {
    return (made ??= createPipeline({
      prefixes,
      endpoints: lists.endpoints,
      statistics: createStatistics(),
      counts: () => counts,
      node,
      includeNoise: false,
      lookups: { queue, remote, isSynced: () => cluster.synced, now, schedule },
      packets: {
        drop({ line, meaning }) {
          for (const { regarding } of meaning.findings)
            if (regarding.kind === 'Pod') options.onDrop(regarding.uid, line.time);
        },
      },
    }));
  }
}

/** Made late, because look-ups remember thousands of addresses and most nodes of a scenario need none. */
function lazyLookups(create: () => RemoteLookups): RemoteLookups {
  let made: RemoteLookups | undefined;
  return {
    podsOf: (address) => made?.podsOf(address),
    nodeOf: (address) => made?.nodeOf(address),
    hostNameOf: (address) => made?.hostNameOf(address),
    get latestChange() {
      return made?.latestChange ?? -Infinity;
    },
    startLookups: (ends: Ends) => (made ??= create()).startLookups(ends),
    isUnsure: (end: Endpoint) => (made ??= create()).isUnsure(end),
    get counts() {
      return (made ??= create()).counts;
    },
  };
}
