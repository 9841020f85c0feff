import { release } from 'node:os';
import type { Config } from './config/config.ts';
import {
  createNodeIncidents,
  type IncidentChange,
  type NodeIncidents,
  type NodeIncidentsState,
  serviceLimit,
} from '../explain/incidents/incidents.ts';
import { createBackendLookup, createFelixReader } from './kubernetes/kubernetes.ts';
import type { Finding } from '../base/model/finding.ts';
import type { Millis } from '../base/model/log-line.ts';
import type { Failing } from '../base/model/program-record.ts';
import type { Backend, ServiceChains } from '../base/model/incident.ts';
import { createProc } from '../base/platform/proc.ts';
import { weightOf } from '../base/platform/weight.ts';
import { createLookup, nodeRefOf, podOfProgram } from '../explain/resolving/resolving.ts';
import { readSpreadOf } from '../count/series/series.ts';
import type { ApiProblems } from './problems.ts';
import type { ClusterContext } from './cluster.ts';

export interface AgentIncidentsOptions {
  config: Config;
  context: ClusterContext;
  restored: NodeIncidentsState | undefined;
  count: (finding: Finding, time: Millis, weight: number) => void;
  problems: { incident: (change: IncidentChange) => void; api: Pick<ApiProblems, 'felix'> };
  now: () => Millis;
}

/** The budget for Services whose EndpointSlices are not watched. Each Service that an incident names takes one request. */
const backendBudget = { rate: 6 / 60, burst: 8 };
const backendAges = { hit: 300_000, miss: 60_000, failed: 60_000 };

export function createAgentIncidents(options: AgentIncidentsOptions): NodeIncidents {
  const { config, context, restored, count, problems, now } = options;
  const { lists, connection, cluster } = context;
  const chains = createChains(context, now);
  const felix = createFelixReader(connection, config.node, now);
  const podRunning = (failing: Failing) => podOfProgram(failing, lists.podsHere(now()));

  return createNodeIncidents({
    node: config.node,
    nodeRef: () => nodeRefOf(lists.endpoints, config.node),
    findPod: podRunning,
    podsHere: () => lists.podsHere(now()),
    chains,
    facts: {
      kernel: release(),
      kubeProxyHere: () => (cluster.synced ? podRunning('kube-proxy') !== undefined : undefined),
      asked: {
        async felix() {
          const settings = await felix.read();
          problems.api.felix(settings);
          return settings;
        },
        felixDelay: () => Math.random() * readSpreadOf(cluster.nodeCount),
        prepareChains: chains.prepare,
        proc: { ...createProc(config.procRoot), now },
        nameOf(address) {
          const { object } = lists.endpoints.byAddress(address, { time: now(), exact: false });
          return object?.namespace === undefined ? object?.name : `${object.namespace}/${object.name}`;
        },
      },
    },
    count,
    isReady: () => cluster.synced,
    onChange: problems.incident,
    restored,
  });
}

/** Finds Services by their chains. Their endpoints are watched, or looked up when an incident names the Service. */
function createChains(
  { lists, connection, cluster }: ClusterContext,
  now: () => Millis,
): ServiceChains & { prepare: (subjects: readonly string[]) => Promise<void> } {
  const find = createBackendLookup(connection);
  let settled = Promise.withResolvers<void>();
  const looked = createLookup<readonly Backend[]>({
    find: async (key) => {
      const [namespace = '', name = ''] = key.split('/');
      const backends = await find(namespace, name);
      return backends.length === 0 ? undefined : backends;
    },
    onSettled() {
      settled.resolve();
      settled = Promise.withResolvers();
    },
    budget: backendBudget,
    concurrency: { all: 3, each: 2 },
    entries: 256,
    ages: backendAges,
    now,
    weighed: { memory: lists.memory, weigh: weightOf, namespaceOf: (_, key) => key.split('/', 1)[0] ?? '' },
  });
  const isWatched = (): boolean => cluster.watches('endpointslices');

  return {
    ownerOf: (chain) => lists.chains.foundOwnerOf(chain),
    backendsOf: (namespace, name) =>
      isWatched() ? lists.chains.backendsOf(namespace, name) : (looked.get(`${namespace}/${name}`) ?? []),
    async prepare(subjects) {
      await lists.chains.prepare(subjects);
      if (isWatched()) return;
      const services = subjects
        .flatMap((chain) => lists.chains.foundOwnerOf(chain)?.service ?? [])
        .slice(0, serviceLimit);
      const keys = new Map(services.map(({ namespace, name }) => [`${namespace}/${name}`, namespace ?? '']));
      // Begin all look-ups before waiting for any.
      while ([...keys].map(([key, namespace]) => looked.ask(key, namespace)).includes('pending')) await settled.promise;
    },
  };
}
