import { basename } from 'node:path';
import { podRef } from '../../model/endpoint.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import { createNodeIncidents, type NodeIncidents } from '../../incidents/node-incidents.ts';
import { createChainIndex } from '../../resolving/service-chains/chain-index.ts';
import { type Directory, nodeRefOf } from '../../resolving/directory.ts';
import type { ClusterObjects, Pod } from '../../resolving/objects.ts';
import { podOf } from '../../resolving/program-pod.ts';
import type { SeriesTable } from '../../series/table.ts';
import { containerOf } from '../../log-formats/container-path.ts';

export interface ReplayIncidentsOptions {
  objects: ClusterObjects;
  directory: Directory;
  /** What FelixConfiguration said for a node, as far as it was saved. */
  felixOf: (node: string) => NodeFacts['felix'];
  series: (node: string) => Pick<SeriesTable, 'count'>;
  /** Makes the writes of a node that are due before `time`. */
  advance: (node: string, time: Millis) => void;
}

/** The incidents of each node whose log is read, in the log's own time. */
export interface ReplayIncidents {
  of: (node: string) => NodeIncidents;
  /** Lets time go by on a node: what it ends and makes due, in order. */
  advance: (node: string, time: Millis) => void;
  /** The logs have ended. That is no silence; but who suffers is still to be told. */
  finish: () => void;
  /** The node that the log of a container is from. */
  nodeOfLog: (path: string) => string | undefined;
  /** How many have been opened. */
  opened: () => number;
  /** Attempts that failed and made no incident, by code. */
  unrepeated: () => Readonly<Record<string, number>>;
}

/** What has something to do without any time going by has it as often as the agent would look. */
const step: Millis = 5000;
/** Thousands of lines may be of one second. */
const lookInterval: Millis = 1000;
/** Longest time in which Pods are told. */
const afterwards: Millis = 600_000;

export function createReplayIncidents(options: ReplayIncidentsOptions): ReplayIncidents {
  const { objects, directory, felixOf, series } = options;
  const nodes = new Map<string, { incidents: NodeIncidents; latest: Millis; asked: Millis }>();
  const logs = new Map<string, Pod | undefined>();
  const chains = createChainIndex();
  for (const service of objects.services) chains.setService(service, 0);
  for (const slice of objects.endpointSlices) chains.setSlice(slice, 0);

  return {
    of: (node) => stateOf(node).incidents,
    advance,
    finish() {
      for (const [node, { incidents, latest }] of nodes)
        run(node, latest + afterwards, incidents.nextPodNotice, (at) => incidents.notifyPods(Math.max(at, latest)));
    },
    nodeOfLog: (path) => podOfLog(path)?.node,
    opened() {
      const counts = [...nodes.values()].flatMap(({ incidents }) => Object.values(incidents.tracker.counts.opened));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    unrepeated() {
      const all: Record<string, number> = {};
      for (const { incidents } of nodes.values())
        for (const [code, count] of Object.entries(incidents.tracker.unrepeated)) all[code] = (all[code] ?? 0) + count;
      return all;
    },
  };

  /** Asked for each record, and there may be many Pods. */
  function podOfLog(path: string): Pod | undefined {
    if (!logs.has(path)) logs.set(path, findPodOfLog(path));
    return logs.get(path);
  }

  /** By the kubelet's path, else by a file name that begins with the Pod's: `kubectl logs POD > POD.log`. */
  function findPodOfLog(path: string): Pod | undefined {
    const container = containerOf(path);
    if (container !== undefined)
      return objects.pods.find(({ namespace, name }) => namespace === container.namespace && name === container.pod);
    const file = basename(path);
    const [longest] = objects.pods
      .filter(({ name }) => file.startsWith(name) && !/^[a-z0-9]/.test(file.slice(name.length)))
      .toSorted((a, b) => b.name.length - a.name.length);
    return longest;
  }

  function stateOf(node: string): { incidents: NodeIncidents; latest: Millis; asked: Millis } {
    let known = nodes.get(node);
    if (known === undefined)
      nodes.set(node, (known = { incidents: create(node), latest: -Infinity, asked: -Infinity }));
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
    options.advance(node, time);
  }

  function run(node: string, until: Millis, next: () => Millis, act: (now: Millis) => void): void {
    let at = next();
    while (at <= until) {
      options.advance(node, at);
      act(at);
      at = Math.max(next(), at + step);
    }
  }

  function create(node: string): NodeIncidents {
    const here = objects.pods.filter((pod) => pod.node === node);
    return createNodeIncidents({
      node,
      nodeRef: () => nodeRefOf(directory, node),
      podOf(failing, source) {
        const pod = podOfLog(source);
        return pod === undefined ? podOf(failing, here) : podRef(pod);
      },
      podsHere: () => here,
      chains,
      facts: { felix: () => felixOf(node), kubeProxyHere: () => podOf('kube-proxy', here) !== undefined },
      isReady: () => true,
      count: (finding, time, weight) => series(node).count(finding, time, weight),
    });
  }
}
