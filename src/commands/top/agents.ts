/** What the agents answer at /drops, asked through the API server's proxy with the user's rights. */
import { liveFlowsVersion } from '../../audit/live-flows.ts';
import type { Connection } from '../../kubernetes/connection.ts';
import { listAll } from '../../kubernetes/paged-list.ts';
import { RefusedError } from '../../kubernetes/refusal.ts';
import { isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, text } from '../../platform/json.ts';
import type { TopOptions } from '../options/top-options.ts';

export interface AgentPod {
  readonly name: string;
  readonly node: string;
  readonly port: number;
}

export interface Look {
  /** Flows as they came, by the agent's Pod. */
  readonly flows: ReadonlyMap<string, readonly Json[]>;
  readonly agents: number;
  /** Why others did not answer: each once, with how many. */
  readonly problems: ReadonlyMap<string, number>;
}

const label = 'app.kubernetes.io/name=kube-netfilter-tailer';
const defaultPort = 9092;
/** Asked at the same time. */
const atOnce = 8;
/** Flows of one agent that are looked at: it has no more. */
const mostFlows = 12_000;

/** Pods that run. Rejects with a `RefusedError`. */
export async function listAgents(
  connection: Connection,
  { agents: { namespace, port }, node }: TopOptions,
): Promise<AgentPod[]> {
  const { items } = await listAll(
    connection,
    `/api/v1/namespaces/${namespace}/pods`,
    { labelSelector: label, fieldSelector: node && `spec.nodeName=${node}`, pageSize: 500 },
    (pod): AgentPod | undefined => {
      const name = text(at(pod, 'metadata', 'name')) ?? '';
      if (at(pod, 'status', 'phase') !== 'Running' || !isSubdomain(name)) return undefined;
      return { name, node: text(at(pod, 'spec', 'nodeName')) ?? '', port: port ?? portOf(pod) };
    },
  );
  return items;
}

function portOf(pod: Json): number {
  const ports = list(at(pod, 'spec', 'containers')).flatMap((container) => list(at(container, 'ports')));
  const port = at(
    ports.find((each) => at(each, 'name') === 'drops'),
    'containerPort',
  );
  return typeof port === 'number' && Number.isInteger(port) ? port : defaultPort;
}

/** Rejects with a `RefusedError` where the user has not the right. */
export async function askAgents(
  connection: Connection,
  { agents: { namespace } }: TopOptions,
  pods: readonly AgentPod[],
): Promise<Look> {
  const flows = new Map<string, readonly Json[]>();
  const problems = new Map<string, number>();
  const waiting = pods.values();
  const ask = async (): Promise<void> => {
    for (const { name, port } of waiting) {
      const answer = await connection.request(
        'GET',
        `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/drops`,
      );
      if (answer.kind === 'refused' && (answer.status === 401 || answer.status === 403)) throw new RefusedError(answer);
      const problem =
        answer.kind === 'refused' ? problemOf(answer.status, answer.message) : versionProblem(answer.body);
      if (problem !== undefined) problems.set(problem, (problems.get(problem) ?? 0) + 1);
      else if (answer.kind === 'answered') flows.set(name, list(at(answer.body, 'flows')).slice(0, mostFlows));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  return { flows, agents: pods.length, problems };
}

function problemOf(status: number, message: string): string {
  if (status === 404) return 'it does not serve /drops (dropsAddress)';
  if (status === 502 || status === 503 || status === 504)
    return 'the API server does not reach it: dropsAddress is not set, or a NetworkPolicy is in between';
  return status === 0 ? `no answer: ${message}` : message;
}

function versionProblem(body: Json): string | undefined {
  const version = at(body, 'version');
  return version === liveFlowsVersion
    ? undefined
    : `it answers version ${JSON.stringify(version)}, not ${liveFlowsVersion}`;
}
