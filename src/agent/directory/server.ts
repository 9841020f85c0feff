import type { Endpoint } from '../../base/model/endpoint.ts';
import { canonicalAddress, type ListenAddress } from '../../base/platform/address.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { createLiveLists, type LiveLists, type Owners } from '../../explain/resolving/resolving.ts';
import { type RequestHead, type ServedAnswer, startServing } from '../serving/serving.ts';
import type { MemoryBudget } from '../../base/platform/memory-budget.ts';
import { decodeReplica, encodeAnswer, encodeReplica, type Replica } from './replicas.ts';
import {
  type Connection,
  pagedList,
  informerOf,
  type ListInformerOptions,
  RefusedError,
} from '../kubernetes/kubernetes.ts';
import { at, strings } from '../../base/platform/json.ts';
import type { Authenticator } from './authenticator.ts';
import type { Certificate } from './certificate.ts';
import { collectMemory, type Metrics } from '../telemetry/metrics.ts';

export type RequestResult = 'hit' | 'miss' | 'stranger' | 'busy' | 'wrong';

export interface DirectoryServerOptions {
  address: ListenAddress;
  certificate: Certificate;
  check: Authenticator;
  ownersOf: (address: string) => Owners | undefined;
  onAnswer: (result: RequestResult) => void;
  clock: Pick<Clock, 'toWall'>;
}

/** The most connections of strangers, and as many of agents. Each takes about 40 KB, and idle ones are closed after 30 s. */
const limits = { total: 4096, perAddress: 4, rate: { rate: 10, burst: 30 } };

const statuses: Readonly<Record<RequestResult, number>> = { hit: 200, miss: 200, stranger: 401, busy: 503, wrong: 400 };

export interface DirectoryServer {
  readonly port: number;
  stop: () => Promise<void>;
}

/** Serves `GET /v1/owners/ADDRESS` over HTTPS to agents only. Rejects if it cannot listen. */
export async function startDirectoryServer(options: DirectoryServerOptions): Promise<DirectoryServer> {
  const { address, certificate, onAnswer } = options;
  const { address: bound, stop } = await startServing({
    listen: address,
    tls: { key: certificate.key, certificate: certificate.certificate },
    limits,
    // Whether the client is an agent is known only after its first answer.
    isClose: () => false,
    isOwnHost: () => false,
    timeout: 5000,
    idleTimeout: 30_000,
    longestHead: 16_384,
    async answer(asked, from, approve) {
      const verdict = await options.check(asked.headers.authorization, from);
      if (verdict === 'agent') approve();
      const [result, body]: [RequestResult, string] = verdict === 'agent' ? answerTo(asked, options) : [verdict, '{}'];
      onAnswer(result);
      return answerOf(statuses[result], body);
    },
    refuse({ status }) {
      onAnswer('wrong');
      return answerOf(status, '{}');
    },
  });
  return { port: bound.port, stop };
}

function answerOf(status: number, body: string): ServedAnswer {
  return { status, type: 'application/json', body: Buffer.from(body) };
}

function answerTo(
  { method, target }: RequestHead,
  { ownersOf, clock }: DirectoryServerOptions,
): [RequestResult, string] {
  const given = /^\/v1\/owners\/([\da-fA-F.:%]{2,130})$/.exec(target)?.[1];
  const address = method === 'GET' && given !== undefined ? canonicalAddress(given.replaceAll(/%3A/gi, ':')) : '';
  if (address === '') return ['wrong', '{}'];
  const owners = ownersOf(address);
  if (owners === undefined) return ['busy', '{}'];
  return [owners.pods.length > 0 || owners.node !== undefined ? 'hit' : 'miss', encodeAnswer(owners, clock)];
}

/** How long and how many deleted Pods are remembered: ten minutes in which 10,000 Pods a minute are replaced. */
const remembered = { age: 600_000, count: 100_000 };

export interface PodWatch {
  readonly lists: LiveLists;
  start: () => void;
  stop: () => void;
  sweep: () => void;
  /** Whether Pods and Nodes are listed. */
  readonly synced: boolean;
  /** Sets the metrics of the addresses that it keeps. */
  collect: (metrics: Metrics, clock: Pick<Clock, 'toWall'>) => void;
}

export function createPodWatch(options: Omit<ListInformerOptions, 'lists'> & { memory: MemoryBudget }): PodWatch {
  const { now } = options.clock;
  const lists = createLiveLists('', undefined, remembered, undefined, options.memory);
  const resources = ['pods', 'nodes'] as const;
  const informers = resources.map((resource) => informerOf(resource, pagedList, { ...options, lists }));

  return {
    lists,
    start(): void {
      for (const informer of informers) informer.start();
    },
    stop(): void {
      for (const informer of informers) informer.stop();
    },
    sweep: (): void => lists.sweep(now()),
    get synced(): boolean {
      return informers.every(({ synced }) => synced);
    },
    collect(metrics: Metrics, { toWall }: Pick<Clock, 'toWall'>): void {
      const { cachedObjects, tombstones, watchLastHeard } = metrics;
      collectMemory(metrics, options.memory);
      tombstones.set(lists.sizes.tombstones);
      for (const [index, resource] of resources.entries()) {
        cachedObjects.set(lists.sizes[resource], { resource });
        const lastHeard = informers[index]?.lastHeard;
        if (lastHeard !== undefined) watchLastHeard.set(toWall(lastHeard) / 1000, { resource });
      }
    },
  };
}

/**
 * Returns the Pods that have the address or had it in the last minutes, or the node that has it. Undefined if no owner is known, but not
 * all Pods are known.
 */
export function ownersIn(
  lists: Pick<LiveLists, 'endpoints' | 'podsByAddress' | 'leftOut'>,
  address: string,
): Owners | undefined {
  const pods = lists.podsByAddress(address).filter(({ uid }) => uid !== '');
  // A deleted Pod may have had other addresses at its end.
  const having = pods.map((pod) =>
    pod.addresses.includes(address) ? pod : Object.assign({}, pod, { addresses: [address] }),
  );
  const node = having.length > 0 ? undefined : nodeOf(lists.endpoints.byAddress(address, anyTime));
  return having.length === 0 && node === undefined && lists.leftOut.mayHave(address)
    ? undefined
    : { pods: having, node };
}

/** Addresses of Nodes have no times. */
const anyTime = { time: 0, exact: true };

function nodeOf({ kind, node }: Endpoint): string | undefined {
  return kind === 'node' ? node : undefined;
}

export interface PublicationOptions {
  connection: Pick<Connection, 'request'>;
  namespace: string;
  configMap: string;
  podName: string;
  replica: Replica;
  isThere: (podName: string, address: string) => boolean;
}

/** The function resolves to true if it has written its own entry, and rejects with a `RefusedError`. */
export function createPublication(options: PublicationOptions): () => Promise<boolean> {
  const { connection, namespace, configMap, podName, replica, isThere } = options;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${configMap}`;
  const own = encodeReplica(replica);
  /** Entries without a Pod at the last check. They are removed at the next check, because the watch may be late. */
  let missed: ReadonlySet<string> = new Set();

  return async () => {
    const answer = await connection.request('GET', path);
    if (answer.kind === 'refused') throw new RefusedError(answer);
    const data = strings(at(answer.body, 'data'));
    const missing = Object.entries(data)
      .filter(([name, text]) => name !== podName && !isThere(name, decodeReplica(text)?.host ?? ''))
      .map(([name, text]) => [name, text].join(' '));
    const gone = missing.filter((entry) => missed.has(entry)).map((entry) => entry.split(' ', 1)[0] ?? '');
    missed = new Set(missing);
    const changes = Object.fromEntries<string | null>(gone.map((name) => [name, null]));
    if (data[podName] !== own) changes[podName] = own;
    if (Object.keys(changes).length === 0) return false;
    // A merge patch changes single keys, so that replicas do not overwrite each other's entries.
    const patched = await connection.request('PATCH', path, { body: { data: changes } });
    if (patched.kind === 'refused') throw new RefusedError(patched);
    return podName in changes;
  };
}
