/** Tracks the incidents of each node whose log is read, in the log's own time. */
import { basename } from 'node:path';
import type { Recorder } from '../../publish/events/events.ts';
import { createNodeIncidents, type NodeIncidents } from '../../explain/incidents/incidents.ts';
import { containerOfPath } from '../../base/log-formats/container-log.ts';
import { podRef } from '../../base/model/endpoint.ts';
import type { NodeFacts } from '../../base/model/incident.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { NodeCounts } from '../../count/pipeline/pipeline.ts';
import {
  type ClusterObjects,
  createChainIndex,
  type EndpointFinder,
  nodeRefOf,
  type Pod,
  podOfProgram,
} from '../../explain/resolving/resolving.ts';
import type { SeriesTable } from '../../count/series/series.ts';

interface ReplayIncidentsOptions {
  objects: ClusterObjects;
  endpoints: EndpointFinder;
  felixOf: (node: string) => NodeFacts['felix'];
  recorder: Pick<Recorder<SeriesTable>, 'series' | 'advance'>;
}

/** The shortest time between two ticks of a node's incidents, as in the agent. */
const step: Millis = 5000;
/** The shortest time between two checks whether a tick is due, because a second may have thousands of lines. */
const lookInterval: Millis = 1000;
/** How long Pod notices are written after the end of a log. The notices of an incident are spread over less time. */
const afterwards: Millis = 600_000;

export interface ReplayIncidents {
  countsOf: (node: string) => NodeCounts;
  /** Advances the time of a node: incidents end and Events become due, in order. */
  advance: (node: string, time: Millis) => void;
  /** Decides on failures that wait for another line, and writes the remaining Pod notices. Open incidents stay open. */
  finish(): void;
  nodeOfLog: (path: string) => string | undefined;
  all: () => NodeIncidents[];
  readonly chains: ReturnType<typeof createChainIndex>;
}

export function createReplayIncidents(options: ReplayIncidentsOptions): ReplayIncidents {
  const { objects, recorder } = options;
  const nodes = new Map<string, { incidents: NodeIncidents; latest: Millis; asked: Millis }>();
  const countsByNode = new Map<string, NodeCounts>();
  const ownerOf = createLogOwners(objects.pods);
  const chains = createChainIndex();
  let podsByNode: Map<string | undefined, Pod[]> | undefined;
  const podsOf = (node: string): readonly Pod[] =>
    (podsByNode ??= Map.groupBy(objects.pods, (pod) => pod.node)).get(node) ?? [];
  for (const service of objects.services) chains.setService(service, 0);
  for (const slice of objects.endpointSlices) chains.setSlice(slice, 0);

  return {
    countsOf(this: void, node: string): NodeCounts {
      let counts = countsByNode.get(node);
      if (counts === undefined) countsByNode.set(node, (counts = createCounts(node)));
      return counts;
    },
    advance,
    finish(): void {
      for (const [node, { incidents, latest }] of nodes) {
        incidents.endOfLog();
        run(node, latest + afterwards, incidents.nextPodNotice, (at) => incidents.notifyPods(Math.max(at, latest)));
      }
    },
    nodeOfLog: (path: string): string | undefined => ownerOf(path)?.node,
    all: (): NodeIncidents[] => [...nodes.values()].map(({ incidents }) => incidents),
    chains,
  };

  function createCounts(node: string): NodeCounts {
    const table = recorder.series(node);
    return {
      table,
      /** Made on demand, because nearly all nodes have no incidents. */
      get incidents() {
        return stateOf(node).incidents;
      },
      advance: (time) => advance(node, time),
      quietUntil: () => (nodes.has(node) ? -Infinity : table.nextDue()),
    };
  }

  function stateOf(node: string): { incidents: NodeIncidents; latest: Millis; asked: Millis } {
    let known = nodes.get(node);
    if (known === undefined)
      nodes.set(
        node,
        (known = {
          incidents: createIncidents(node, { ...options, chains, ownerOf, podsOf }),
          latest: -Infinity,
          asked: -Infinity,
        }),
      );
    return known;
  }

  function advance(node: string, time: Millis): void {
    const known = nodes.get(node);
    if (known !== undefined && time - known.asked >= lookInterval) {
      const { incidents } = known;
      run(node, time, incidents.nextTick, (at) => incidents.tick(Math.max(at, known.latest)));
      known.asked = time;
    }
    if (known !== undefined) known.latest = Math.max(known.latest, time);
    recorder.advance(node, time);
  }

  function run(node: string, until: Millis, next: () => Millis, act: (now: Millis) => void): void {
    let at = next();
    while (at <= until) {
      recorder.advance(node, at);
      act(at);
      at = Math.max(next(), at + step);
    }
  }
}

interface IncidentsContext extends ReplayIncidentsOptions {
  chains: ReturnType<typeof createChainIndex>;
  ownerOf: (path: string) => Pod | undefined;
  podsOf: (node: string) => readonly Pod[];
}

function createIncidents(node: string, context: IncidentsContext): NodeIncidents {
  const { podsOf, endpoints, felixOf, recorder, chains, ownerOf } = context;
  const here = podsOf(node);
  return createNodeIncidents({
    node,
    nodeRef: () => nodeRefOf(endpoints, node),
    findPod(failing, source) {
      const pod = ownerOf(source);
      return pod === undefined ? podOfProgram(failing, here) : podRef(pod);
    },
    podsHere: () => here,
    chains,
    facts: { felix: () => felixOf(node), kubeProxyHere: () => podOfProgram('kube-proxy', here) !== undefined },
    isReady: () => true,
    count: (finding, time, weight) => recorder.series(node).count(finding, time, weight),
  });
}

export function openedIn(all: readonly NodeIncidents[]): number {
  const counts = all.flatMap(({ tracker }) => Object.values(tracker.counts.opened));
  return counts.reduce((sum, count) => sum + count, 0);
}

export function unrepeatedIn(all: readonly NodeIncidents[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { tracker } of all)
    for (const [code, count] of Object.entries(tracker.unrepeated)) sums[code] = (sums[code] ?? 0) + count;
  return sums;
}

/** Remembers the Pod of a log, because each record needs it. */
function createLogOwners(pods: readonly Pod[]): (path: string) => Pod | undefined {
  const owners = new Map<string, Pod | undefined>();
  return (path) => {
    if (!owners.has(path)) owners.set(path, findOwner(path, pods));
    return owners.get(path);
  };
}

/** Finds the Pod by the kubelet's path, else by a file name that begins with the Pod's name: `kubectl logs POD > POD.log`. */
function findOwner(path: string, pods: readonly Pod[]): Pod | undefined {
  const container = containerOfPath(path);
  if (container !== undefined)
    return pods.find(({ namespace, name }) => namespace === container.namespace && name === container.pod);
  const file = basename(path);
  const [longest] = pods
    .filter(({ name }) => file.startsWith(name) && !/^[a-z0-9]/.test(file.slice(name.length)))
    .toSorted((a, b) => b.name.length - a.name.length);
  return longest;
}
