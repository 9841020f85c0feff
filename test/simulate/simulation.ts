import { causeOf } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { affectedPodsOf, type AffectedPod } from '../../src/explain/incidents/reporting/details.ts';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { AgentState } from '../../src/publish/state/state.ts';
import { createRandom } from '../soak/random.ts';
import { createSimulatedAgent, type SimulatedAgent } from './agent.ts';
import { type ApiServer, createApiServer } from './api-server.ts';
import { createCluster, type SimulatedCluster } from './cluster.ts';
import type { LoggedLine } from './lines.ts';
import { createMeasurements, type Results } from './measurements.ts';
import { createVirtualTime, type VirtualTime } from './virtual-time.ts';

/** The changes that a scenario may make to the cluster. */
export interface Simulation {
  time: VirtualTime;
  /** When the scenario begins; by then agents run and watch. */
  start: Millis;
  end: Millis;
  random: () => number;
  cluster: SimulatedCluster;
  api: ApiServer;
  /** Calls `task` this long after the start. */
  at: (after: Millis, task: () => void) => void;
  /** Logs a line on a node now. While the node's agent is away, the line stays in the log. */
  log: (node: number, ...lines: readonly LoggedLine[]) => void;
  /** Ends the agent of a node by SIGTERM, and starts it again after this pause. Resolves when it runs. */
  restart: (node: number, pause: Millis) => Promise<void>;
}

export interface Scenario {
  name: string;
  duration: Millis;
  play: (simulation: Simulation) => void;
}

export interface Size {
  /** The number of simulated nodes. */
  nodes: number;
  /** The number of nodes in the cluster, as the API server counts them. */
  of: number;
  podsPerNode: number;
  seed: number;
}

/** Agents that have run for a while were not started at the same time. */
const warmUp: Millis = 600_000;
const begin: Millis = Date.UTC(2026, 10, 21, 9);

export async function simulate(scenario: Scenario, { nodes, of, podsPerNode, seed }: Size): Promise<Results> {
  const time = createVirtualTime(begin);
  const random = createRandom(seed);
  const cluster = createCluster(nodes, of, podsPerNode);
  const start = begin + warmUp;
  const end = start + scenario.duration;
  const measurements = createMeasurements(start, end, nodes, time.now);
  const api = createApiServer(time, cluster, measurements);
  const agents: (SimulatedAgent | undefined)[] = [];
  const logged = new Map<number, { line: LoggedLine; at: Millis }[]>();

  for (let node = 0; node < nodes; node++) time.schedule(() => run(node), random() * (warmUp / 2));
  scenario.play({
    time,
    start,
    end,
    random,
    cluster,
    api,
    at: (after, task) => void time.schedule(task, start + after - time.now()),
    log(node, ...lines) {
      const agent = agents[node];
      for (const line of lines)
        if (agent !== undefined) agent.take(line, time.now());
        else logged.get(node)?.push({ line, at: time.now() });
    },
    restart,
  });
  await time.runUntil(end);
  return measurements.results();

  function run(node: number, restored?: AgentState): void {
    const agent = createSimulatedAgent({
      node: cluster.nodeName(node),
      connection: api.connectionOf(node),
      time,
      random,
      restored,
      onDrop: measurements.affected,
      onIncident({ kind, incident }, pods) {
        if (kind !== 'opened' || causeOf(incident.code).impact === undefined) return;
        for (const { uid } of affectedPodsOf(pods as readonly AffectedPod[])) measurements.affected(uid, time.now());
      },
    });
    agents[node] = agent;
    agent.start();
    for (const { line, at } of logged.get(node) ?? []) agent.take(line, at);
    logged.delete(node);
  }

  async function restart(node: number, pause: Millis): Promise<void> {
    const agent = agents[node];
    if (agent === undefined) return;
    agents[node] = undefined;
    logged.set(node, []);
    const state = await agent.stop();
    await time.pause(pause);
    run(node, state);
  }
}
