/** Asks the API server for its version, Pods, Nodes, Calico's configuration and ways to find Pods of other nodes. No function here rejects. */
import type { PodName } from './machine.ts';
import type { Config } from '../../agent/config/config.ts';
import { createDirectoryFinder } from '../../agent/directory/directory.ts';
import { denierOf, type Refusal } from '../../publish/events/events.ts';
import {
  type Answer,
  type Connection,
  createFelixReader,
  countAll,
  createPodFinders,
  type PodRanges,
  ifUsable,
  isStrange,
  slimNode,
  slimPod,
} from '../../agent/kubernetes/kubernetes.ts';

import type { Millis } from '../../base/model/log-line.ts';
import { createSteadyClock } from '../../base/platform/clock.ts';
import { at, type Json, list, text } from '../../base/platform/json.ts';
import { indexPodRanges, type Node, type Pod, type FinderState } from '../../explain/resolving/resolving.ts';
import type { NodeFacts } from '../../base/model/incident.ts';

/** `request` never rejects; a refusal with status 0 means that there was no answer. */
export interface Api extends Pick<Connection, 'server' | 'request' | 'clockSkew'> {
  /** Why no API server can be asked, for example without a kubeconfig and a ServiceAccount. */
  readonly unusable?: string | undefined;
}

export type ApiRequests = Pick<Api, 'request'>;

/** Stands for an API server that cannot be asked, so that each check can report that in its own words. */
export function noApi(reason: string): Api {
  const refusal = { kind: 'refused', status: 0, reason: '', message: reason, retryAfter: undefined } as const;
  return { server: '', clockSkew: undefined, unusable: reason, request: () => Promise.resolve(refusal) };
}

export function itemsOfAnswer(
  answer: Answer,
): { kind: 'items'; items: readonly unknown[] } | { kind: 'refused'; why: string } {
  if (answer.kind === 'refused') return { kind: 'refused', why: refusalText(answer) };
  return { kind: 'items', items: list(at(answer.body, 'items')) };
}

export function refusalText(refusal: Pick<Refusal, 'status' | 'reason' | 'message'>): string {
  const { status, message } = refusal;
  if (isStrange(refusal)) return 'something else answers in place of the API server';
  if (status === 0) return 'the API server does not answer';
  if (denierOf(refusal) !== undefined) return `the API server's admission denies it: ${message}`;
  return status === 403 ? 'the API server does not allow it' : `the API server answers ${status}: ${message}`;
}

export async function podsOn({ request }: ApiRequests, node: string): Promise<Pod[] | undefined> {
  if (node === '') return undefined;
  const query = { fieldSelector: `spec.nodeName=${node}`, resourceVersion: '0' };
  const found = itemsOfAnswer(await request('GET', '/api/v1/pods', { query }));
  return found.kind === 'refused' ? undefined : usable(found.items, slimPod);
}

/** `found` is undefined if the object does not exist. */
export type FindResult<T> = { kind: 'answered'; found: T | undefined } | { kind: 'refused'; why: string };

/** Lists Pods by name, because the agent has the right to list Pods, but not to get one. */
export async function findPod({ request }: ApiRequests, { namespace, name }: PodName): Promise<FindResult<Pod>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const found = itemsOfAnswer(await request('GET', path, { query: { fieldSelector: `metadata.name=${name}` } }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, slimPod)[0] };
}

export interface NodeWithProvider extends Node {
  /** Such as `kind://docker/kind/kind-worker`; undefined if it is not set. */
  providerId: string | undefined;
}

export async function findNode({ request }: ApiRequests, name: string): Promise<FindResult<NodeWithProvider>> {
  const query = { fieldSelector: `metadata.name=${name}`, limit: 1 };
  const found = itemsOfAnswer(await request('GET', '/api/v1/nodes', { query }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, withProvider)[0] };
}

function withProvider(item: Json): NodeWithProvider {
  return { ...slimNode(item), providerId: text(at(item, 'spec', 'providerID')) };
}

export async function someNodes({ request }: ApiRequests): Promise<string[]> {
  const found = itemsOfAnswer(await request('GET', '/api/v1/nodes', { query: { limit: 5 } }));
  return found.kind === 'refused' ? [] : usable(found.items, slimNode).map(({ name }) => name);
}

function usable<T>(items: readonly unknown[], slim: (item: Json) => T): T[] {
  return items.flatMap((item) => ifUsable(slim)(item) ?? []);
}

/** The API server's answers about itself. */
export interface ServerVersion extends Pick<Api, 'server' | 'unusable' | 'clockSkew'> {
  answer: Answer;
  took: Millis;
}

export async function askVersion(api: Api, now: () => Millis): Promise<ServerVersion> {
  const started = now();
  const answer = await api.request('GET', '/version');
  const { server, unusable, clockSkew } = api;
  return { server, unusable, clockSkew, answer, took: Math.round(now() - started) };
}

/** The known part of FelixConfiguration: the agent's settings, and two that only doctor needs. */
export interface FelixFacts {
  felix: NodeFacts['felix'] & {};
  logPrefix: string | undefined;
  flows: string | undefined;
  /** Returns the object to patch, because a setting of the node's own object hides that of `default`. */
  objectWith: (setting: string) => string;
  defaultSpec: Json;
}

/** Reads FelixConfiguration as the agent does, and two settings that only doctor needs. */
export async function lookAtFelix({ request }: ApiRequests, node: string): Promise<FelixFacts> {
  const specs: { default?: Json; node?: Json } = {};
  const noting: ApiRequests = {
    async request(verb, path, options) {
      const answer = await request(verb, path, options);
      if (answer.kind === 'answered') specs[path.endsWith('/default') ? 'default' : 'node'] = at(answer.body, 'spec');
      return answer;
    },
  };
  const reader = createFelixReader(noting, node, () => 0);
  const felix = await reader.read();
  const setting = (name: string): string | undefined => text(at(specs.node, name)) ?? text(at(specs.default, name));
  const objectWith = (name: string): string => (text(at(specs.node, name)) === undefined ? 'default' : `node.${node}`);
  return {
    felix,
    logPrefix: setting('logPrefix'),
    flows: setting('flowLogsLocalReporter'),
    objectWith,
    defaultSpec: specs.default,
  };
}

interface Neighbours {
  api: ApiRequests & Pick<Api, 'unusable'>;
  config: Pick<Config, 'node' | 'podCache' | 'podLookups' | 'maxNodes' | 'directory'>;
  ownNode: Promise<FindResult<Node> | undefined>;
  pods: Promise<readonly Pod[] | undefined>;
}

/** A way to ask for the Pod of an address. */
export interface LookupFinderState extends FinderState {
  way: Config['podLookups'][number];
}

export async function lookAtFinders(neighbours: Neighbours): Promise<LookupFinderState[] | undefined> {
  const { api, config } = neighbours;
  if (config.podCache === 'cluster' || config.podLookups.length === 0 || api.unusable !== undefined) return undefined;
  const clock = createSteadyClock();
  const ranges = await lookAtRanges(neighbours);
  const directory = createDirectoryFinder({ folder: config.directory, clock, random: Math.random });
  const finders = createPodFinders(config.podLookups, directory, { connection: api, ranges, clock });
  return await Promise.all(
    finders.map(async ({ way, look }) => {
      const { usable: isUsable, why } = await (look?.() ?? ranges.state);
      return { way, usable: isUsable, why };
    }),
  );
}

/** Decides from this Node and its Pods whether podCIDR can be used, as the agent would. */
async function lookAtRanges({
  api,
  config: { node, maxNodes },
  ownNode,
  pods,
}: Neighbours): Promise<PodRanges & { state: FinderState }> {
  const counting = countAll(api, '/api/v1/nodes').catch(() => undefined);
  const [answer, here = [], count] = await Promise.all([ownNode, pods, counting]);
  const own = answer?.kind === 'answered' ? answer.found : undefined;
  const homeOf = indexPodRanges(own === undefined ? [] : [own]);
  const addresses = here.flatMap((pod) => (pod.hostNetwork ? [] : pod.addresses.slice(0, 1)));
  const why = whyNot();
  const state = { usable: why === undefined, why: why ?? `podCIDR of ${count} Nodes` };
  return { homeOf, followed: () => state.usable, state };

  function whyNot(): string | undefined {
    if (own === undefined) return 'this Node could not be read';
    if (own.podRanges.length === 0) return 'this Node has no podCIDR';
    if (count === undefined || count > maxNodes)
      return `${count ?? 'an unknown number of'} Nodes, which are not watched (maxNodes ${maxNodes})`;
    if (addresses.length === 0 || addresses.some((address) => homeOf(address) === node)) return undefined;
    return 'the network plugin gives addresses of other ranges than podCIDR';
  }
}
