/** Finds the agents, and asks them for their flows. */
import { type Connection, listAll, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { liveFlowsVersion } from '../../publish/audit/audit.ts';
import type { Refusal } from '../../publish/events/events.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, text } from '../../base/platform/json.ts';
import type { TopOptions } from '../options/top-options.ts';
import { cell } from '../terminal.ts';
import { type TopFlow, topFlowOf } from './flows.ts';

export interface AgentPod {
  readonly name: string;
  readonly node: string;
  readonly port: number;
}

export interface FlowSnapshot {
  /** Flows by the name of the agent's Pod. */
  readonly flows: ReadonlyMap<string, readonly TopFlow[]>;
  readonly agents: number;
  /** Why other agents did not answer, each with the Nodes of these agents. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
}

const label = 'app.kubernetes.io/name=kube-netfilter-tailer';
const defaultPort = 9092;
const atOnce = 8;
/** The most flows that are used of one agent. An agent itself keeps fewer. */
const mostFlows = 12_000;

/** Rejects with a `RefusedError`. */
export async function listAgents(
  connection: Connection,
  { agents: { namespace, port }, node }: TopOptions,
): Promise<AgentPod[]> {
  const listed = async (labelSelector: string | undefined): Promise<AgentPod[]> => {
    const { items } = await listAll(
      connection,
      `/api/v1/namespaces/${namespace}/pods`,
      { labelSelector, fieldSelector: node && `spec.nodeName=${node}`, pageSize: 500 },
      (pod): AgentPod | undefined => {
        const name = text(at(pod, 'metadata', 'name')) ?? '';
        if (at(pod, 'status', 'phase') !== 'Running' || !isSubdomain(name)) return undefined;
        const served = portOf(pod);
        if (labelSelector === undefined && served === undefined) return undefined;
        return { name, node: text(at(pod, 'spec', 'nodeName')) ?? '', port: port ?? served ?? defaultPort };
      },
    );
    return items;
  };
  const labelled = await listed(label);
  // The chart's nameOverride changes the label, but not the name of the port.
  return labelled.length > 0 ? labelled : await listed(undefined);
}

function portOf(pod: Json): number | undefined {
  const ports = list(at(pod, 'spec', 'containers')).flatMap((container) => list(at(container, 'ports')));
  const port = at(
    ports.find((each) => at(each, 'name') === 'drops'),
    'containerPort',
  );
  return typeof port === 'number' && Number.isInteger(port) ? port : undefined;
}

/** Rejects with a `RefusedError` if all refuse, as without the right to ask them. A single refusal concerns only that agent. */
export async function askAgents(
  connection: Connection,
  { agents: { namespace } }: TopOptions,
  pods: readonly AgentPod[],
): Promise<FlowSnapshot> {
  const flows = new Map<string, readonly TopFlow[]>();
  const problems = new Map<string, string[]>();
  const refusals: Refusal[] = [];
  const waiting = pods.values();
  const ask = async (): Promise<void> => {
    for (const { name, node, port } of waiting) {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/drops`;
      const answer = await connection.request('GET', path);
      const own = answer.kind === 'answered' ? answer.body : undefined;
      const problem = answer.kind === 'refused' ? problemOf(answer.status, answer.message) : answerProblem(own);
      if (problem === undefined) flows.set(name, list(at(own, 'flows')).slice(0, mostFlows).map(topFlowOf));
      else if (problems.get(problem)?.push(node) === undefined) problems.set(problem, [node]);
      if (answer.kind === 'refused' && (answer.status === 401 || answer.status === 403)) refusals.push(answer);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  const [refusal] = refusals;
  if (refusal !== undefined && refusals.length === pods.length) throw new RefusedError(refusal);
  return { flows, agents: pods.length, problems };
}

function problemOf(status: number, message: string): string {
  if (status === 404) return 'it does not serve /drops (dropsAddress)';
  if (status === 502 || status === 503 || status === 504)
    return 'the API server does not reach it: dropsAddress is not set, or a NetworkPolicy is in between';
  return status === 0 ? `no answer: ${message}` : message;
}

function answerProblem(body: Json): string | undefined {
  const version = at(body, 'version');
  if (version === liveFlowsVersion)
    return Array.isArray(at(body, 'flows')) ? undefined : 'its answer has no list of flows';
  const said = typeof version === 'number' || typeof version === 'string' ? cell(String(version), 32) : 'none';
  return `it answers version ${said}, not ${liveFlowsVersion}`;
}
