/** Asks the agents for their flows, and makes rows of them. A rate is computed from the packets of two rounds. */
import { liveFlowsVersion } from '../../publish/audit/audit.ts';
import { type Connection, listAll, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import type { Refusal } from '../../publish/events/events.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, instant, type Json, list, text } from '../../base/platform/json.ts';
import type { TopOptions } from '../options/drops-options.ts';
import { cell, endText } from '../terminal.ts';

export interface TopRow {
  readonly from: string;
  readonly to: string;
  readonly port: string;
  readonly verdict: string;
  readonly policy: string;
  readonly namespaces: readonly string[];
  packets: number;
  /** Packets a second; undefined until one of its agents has answered in two rounds in a row. */
  rate: number | undefined;
  last: Millis;
}

export interface Rates {
  /** `now`: milliseconds of a clock that only goes forward. */
  take: (flows: ReadonlyMap<string, readonly Json[]>, now: Millis) => TopRow[];
}

export function createRates(): Rates {
  /** The packets of each flow in the last round. */
  let before = new Map<string, number>();
  let looked = new Map<string, Millis>();

  return {
    take: (flows: ReadonlyMap<string, readonly Json[]>, now: Millis): TopRow[] => {
      const rows = new Map<string, TopRow>();
      const next: typeof before = new Map();
      for (const [agent, own] of flows) {
        const lookedAt = looked.get(agent);
        const seconds = lookedAt === undefined ? undefined : Math.max(0.001, (now - lookedAt) / 1000);
        for (const flow of own) {
          const row = rowOf(flow);
          const key = JSON.stringify([row.from, row.to, row.port, row.verdict, row.policy]);
          const since = text(at(flow, 'event.start')) ?? '';
          const addresses = ['source', 'destination'].map((end) => text(at(flow, `${end}.address`)));
          const id = JSON.stringify([agent, key, since, ...addresses]);
          next.set(id, row.packets);
          // A flow that is new in this round began at 0.
          if (seconds !== undefined) row.rate = Math.max(0, row.packets - (before.get(id) ?? 0)) / seconds;
          addTo(rows, key, row);
        }
      }
      before = next;
      looked = new Map([...flows.keys()].map((agent) => [agent, now]));
      return [...rows.values()];
    },
  };
}

function addTo(rows: Map<string, TopRow>, key: string, row: TopRow): void {
  const same = rows.get(key);
  if (same === undefined) return void rows.set(key, row);
  same.packets += row.packets;
  same.last = Math.max(same.last, row.last);
  if (row.rate !== undefined) same.rate = (same.rate ?? 0) + row.rate;
}

function rowOf(flow: Json): TopRow {
  const packets = at(flow, 'network.packets');
  const port = at(flow, 'destination.port') ?? at(flow, 'source.port');
  const transport = cell(text(at(flow, 'network.transport')) ?? '').toUpperCase();
  const isPort = typeof port === 'number' && Number.isInteger(port);
  return {
    from: endOf(flow, 'source'),
    to: endOf(flow, 'destination'),
    port: isPort ? `${port}/${transport}` : transport || '-',
    verdict: cell(text(at(flow, 'event.action')) ?? '-'),
    policy: policyOf(flow),
    namespaces: ['source', 'destination'].flatMap((end) => text(at(flow, `${end}.k8s.namespace.name`)) ?? []),
    packets: typeof packets === 'number' && Number.isSafeInteger(packets) && packets > 0 ? packets : 0,
    rate: undefined,
    last: instant(at(flow, 'event.end')) ?? 0,
  };
}

function endOf(flow: Json, end: 'source' | 'destination'): string {
  const of = (name: string): string | undefined => text(at(flow, `${end}.${name}`));
  const namespace = of('k8s.namespace.name');
  const inNamespace = (name: string): string => (namespace === undefined ? name : `${namespace}/${name}`);
  const [kind, owner, pod] = [of('k8s.owner.kind'), of('k8s.owner.name'), of('k8s.pod.name')];
  if (owner !== undefined) return cell(endText(kind, inNamespace(owner)));
  if (pod !== undefined) return cell(inNamespace(pod));
  return cell(of('address') ?? of('kind') ?? '-');
}

function policyOf(flow: Json): string {
  const [name, namespace] = [text(at(flow, 'security_rule.name')), text(at(flow, 'policy.namespace'))];
  if (name === undefined) return '-';
  return cell(namespace === undefined ? name : `${namespace}/${name}`);
}

export interface AgentPod {
  readonly name: string;
  readonly node: string;
  readonly port: number;
}

export interface FlowSnapshot {
  /** Flows by the name of the agent's Pod. */
  readonly flows: ReadonlyMap<string, readonly Json[]>;
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

/** Rejects with a `RefusedError` if all refuse, as where the user lacks the right to ask them. One alone only says so of itself. */
export async function askAgents(
  connection: Connection,
  { agents: { namespace } }: TopOptions,
  pods: readonly AgentPod[],
): Promise<FlowSnapshot> {
  const flows = new Map<string, readonly Json[]>();
  const problems = new Map<string, string[]>();
  const refusals: Refusal[] = [];
  const waiting = pods.values();
  const ask = async (): Promise<void> => {
    for (const { name, node, port } of waiting) {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/drops`;
      const answer = await connection.request('GET', path);
      const own = answer.kind === 'answered' ? answer.body : undefined;
      const problem = answer.kind === 'refused' ? problemOf(answer.status, answer.message) : answerProblem(own);
      if (problem === undefined) flows.set(name, list(at(own, 'flows')).slice(0, mostFlows));
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
