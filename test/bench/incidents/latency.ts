import { setTimeout as delay } from 'node:timers/promises';
import type { AgentProcess } from '../../e2e/agent-process.ts';
import type { AgentRig } from '../../e2e/agent-rig.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';
import { createObjects } from '../../e2e/control-plane/objects.ts';
import { createCriLog, type CriLog } from '../../e2e/kube-proxy/cri-log.ts';
import { type BenchNode, nodeWithProxy } from './cluster.ts';
import { type EventWatch, watchEvents } from './event-watch.ts';
import { failedLines, syncedLines } from './records.ts';

const incidents = 64;
/** Agents that run at a time: each node has one incident of a Service of its own. */
const together = 8;
/** An answer is counted a moment after others can see what it is about. */
const untilCounted = 200;
/** A failure that comes again sooner belongs to the same attempt. */
const betweenAttempts = 2500;

interface TrackedFailure {
  node: BenchNode;
  agent: AgentProcess;
  log: CriLog;
}

/** From the failure line that opens an incident, in the log of a container, to the Events as the API server shows them. */
export async function latency(connection: Connection, rig: AgentRig): Promise<string[][]> {
  const events = await watchEvents(connection);
  const took: Record<'Node' | 'Pod' | 'Service' | 'all', number[]> = { Node: [], Pod: [], Service: [], all: [] };
  const requests: Record<string, number> = {};
  for (let number = 0; number < incidents; number += together) {
    const nodes: TrackedFailure[] = [];
    while (nodes.length < together) nodes.push(await start(connection, rig, nodeWithProxy(number + nodes.length + 1)));
    for (const { log, node } of nodes) failedLines(node.chain).forEach(log.write);
    await delay(betweenAttempts);
    for (const watched of nodes) {
      const before = await requestsOf(watched.agent);
      const times = await measure(watched, events);
      for (const [object, time] of Object.entries(times)) took[object as keyof typeof took].push(time);
      await delay(untilCounted);
      for (const [what, count] of Object.entries(await requestsOf(watched.agent)))
        requests[what] = (requests[what] ?? 0) + count - (before[what] ?? 0);
    }
    await rig.killAll();
  }
  events.stop();
  const each = Object.entries(requests).filter(([, count]) => count > 0);
  const all = each.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...Object.entries(took).map(([object, times]) => [
      `failure line → ${object === 'all' ? 'all three visible' : `Event on the ${object} visible`}, ${times.length} incidents: p50, p99`,
      `${seconds(times, 0.5)}, ${seconds(times, 0.99)}`,
    ]),
    ['requests to open one incident', (all / incidents).toFixed(1)],
    ...each.map(([what, count]) => [`… ${what}`, (count / incidents).toFixed(1)]),
  ];
}

async function start(connection: Connection, rig: AgentRig, node: BenchNode): Promise<TrackedFailure> {
  const created = await createObjects(connection, { items: node.objects });
  const uid = created.find(({ metadata }) => metadata.name === node.proxyPod)?.metadata.uid ?? '';
  const podLogs = rig.newFolder();
  const pod = { namespace: 'kube-system', pod: node.proxyPod, uid };
  const log = createCriLog({ podLogs, ...pod, container: 'kube-proxy' });
  syncedLines().forEach(log.write);
  const agent = rig.start({
    NODE_NAME: node.name,
    SOURCES: 'containers',
    POD_LOGS: podLogs,
  });
  await agent.untilReady();
  return { node, agent, log };
}

async function measure(
  { log, node }: TrackedFailure,
  events: EventWatch,
): Promise<Record<'Node' | 'Pod' | 'Service' | 'all', number>> {
  const written = performance.now();
  failedLines(node.chain).forEach(log.write);
  const [onNode, onPod, onService] = await Promise.all([
    events.until(`Node/${node.name}`),
    events.until(`Pod/${node.proxyPod}`),
    events.until(`Service/${node.service}`),
  ]);
  const all = Math.max(onNode, onPod, onService) - written;
  return { Node: onNode - written, Pod: onPod - written, Service: onService - written, all };
}

async function requestsOf(agent: AgentProcess): Promise<Record<string, number>> {
  const { body } = await agent.get('/metrics');
  const counts: Record<string, number> = {};
  const metric = /^kube_netfilter_tailer_api_requests_total\{(.*)\} (\d+)$/gm;
  for (const [, labels = '', count] of body.matchAll(metric)) {
    const [verb, resource, code] = ['verb', 'resource', 'code'].map(
      (label) => new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1],
    );
    counts[`${verb} ${resource} (${code})`] = Number(count);
  }
  return counts;
}

function seconds(times: readonly number[], quantile: number): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `${((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? NaN) / 1000).toFixed(2)} s`;
}
