import type { CoreEvent } from '../../src/publish/events/event.ts';
import type { Refusal } from '../../src/publish/events/event-writer.ts';
import type { Answer, Connection, Query } from '../../src/agent/kubernetes/connection.ts';
import { RefusedError } from '../../src/agent/kubernetes/http.ts';
import type { Millis } from '../../src/base/model/log-line.ts';
import { blockSize, type SimulatedCluster } from './cluster.ts';
import { costs, eventOverhead } from './costs.ts';
import type { Measurements, RequestKind } from './measurements.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The number of cores that only run the API server. */
const cores = 8;
/** A write waits for etcd's disk, however little CPU time it costs. */
const diskLatency: Millis = 3;
/**
 * How many requests of one ServiceAccount may wait for their turn. Further ones get 429 (API Priority and Fairness: six
 * queues of 50).
 */
const queueLimit = 300;
/** `--event-ttl`, counted from the last write. */
const eventLifetime: Millis = 3_600_000;
/** Objects that no scenario changes, more than an agent watches. */
const counts: Readonly<Record<string, number>> = { services: 10_000, endpointslices: 20_000 };

interface StoredEvent {
  expires: Millis;
  bytes: number;
  body: CoreEvent;
}

export type ApiServer = ReturnType<typeof createApiServer>;

/**
 * A model of an API server. The costs are measured (`npm run bench -- lookups`, `npm run bench -- events`); they decide
 * who has to wait.
 */
export function createApiServer(time: VirtualTime, cluster: SimulatedCluster, measurements: Measurements) {
  const { now, schedule } = time;
  const freeAt = Array.from({ length: cores }, () => -Infinity);
  const events = new Map<string, StoredEvent>();
  const watches = new Set<(error: Error) => void>();
  let revision = 1000;
  let startedAt = 0;
  let isAway = false;
  schedule(forgetExpired, eventLifetime);

  const server = {
    felix: undefined as object | undefined,
    /**
     * Ends all watches and answers nothing until it is `back`. Then it has no history from which a watch could
     * continue.
     */
    leave(this: void): void {
      isAway = true;
      for (const end of watches) end(new Error('terminated'));
      watches.clear();
    },
    back(this: void): void {
      isAway = false;
      startedAt = ++revision;
    },
    connectionOf: (node: number): Connection => ({
      server: 'https://10.96.0.1:443',
      clockSkew: undefined,
      request: (verb, path, options) => request(node, verb, path, options?.query, options?.body),
      stream: (_, query, signal) => stream(node, query, signal),
    }),
  };
  return server;

  async function request(
    node: number,
    verb: 'GET' | 'POST' | 'PATCH',
    path: string,
    query: Query | undefined,
    body: unknown,
  ): Promise<Answer> {
    const kind = kindOf(verb, path, query);
    const refusal = await admit(kind, node);
    if (refusal !== undefined) return refusal;
    return answer(verb, path, query, body);
  }

  /** Waits for the request's turn and its answer. */
  async function admit(kind: RequestKind, node: number): Promise<Refusal | undefined> {
    const cpu = costs[kind];
    if (isAway) {
      measurements.request(kind, node, 'away', 0);
      await time.pause(1);
      return refused(0, 'connect ECONNREFUSED 10.96.0.1:443');
    }
    const core = freeAt.indexOf(Math.min(...freeAt));
    const begins = Math.max(now(), freeAt[core] ?? 0);
    if ((begins - now()) * cores > queueLimit * cpu) {
      measurements.request(kind, node, 'throttled', costs.throttled);
      await time.pause(1);
      return refused(429, 'too many requests', 1000);
    }
    freeAt[core] = begins + cpu;
    measurements.request(kind, node, 'served', cpu);
    await time.pause(begins + cpu - now() + (kind === 'create Event' || kind === 'patch Event' ? diskLatency : 1));
    return isAway ? refused(0, 'read ECONNRESET') : undefined;
  }

  async function stream(node: number, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const refusal = await admit('watch', node);
    if (refusal !== undefined) throw new RefusedError(refusal);
    if (Number(query['resourceVersion']) < startedAt) throw new RefusedError(refused(410, 'too old resource version'));
    return watch(Number(query['timeoutSeconds']) * 1000, signal);
  }

  /** Nothing changes. Bookmarks keep the watch from being taken for silent, and only the last of them matters. */
  async function* watch(lifetime: Millis, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const ended = Promise.withResolvers<void>();
    const cancel = schedule(ended.resolve, lifetime);
    watches.add(ended.reject);
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    try {
      await ended.promise;
    } finally {
      cancel();
      watches.delete(ended.reject);
    }
    const object = { metadata: { resourceVersion: String(revision) } };
    yield new TextEncoder().encode(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  function answer(verb: 'GET' | 'POST' | 'PATCH', path: string, query: Query | undefined, body: unknown): Answer {
    if (verb === 'POST')
      return path.endsWith('/events') ? create(path, body as CoreEvent) : answered({ status: { allowed: true } });
    if (verb === 'PATCH') return patch(path, body as CoreEvent);
    const parts = path.split('/');
    const resource = parts[path.startsWith('/apis/') ? 4 : 3] ?? '';
    const name = parts.at(-1) ?? '';
    if (path.includes('/events/')) return eventAnswer(eventAt(path));
    if (path.includes('/ippools')) return answered({ items: [{ spec: { cidr: '10.64.0.0/10', blockSize: 26 } }] });
    if (path.includes('/ipamblocks/')) return answered(blockNamed(name));
    if (path.includes('/felixconfigurations/'))
      return name === 'default' && server.felix !== undefined ? answered(server.felix) : refused(404, 'not found');
    if (/\/pods\/./.test(path)) return answered(podNamed(name));
    if (query?.['limit'] === 1) {
      const count = resource === 'nodes' ? cluster.nodeCount : (counts[resource] ?? 0);
      return answered({ items: [{}], metadata: { remainingItemCount: count - 1 } });
    }
    return answered({
      items: itemsOf(resource, String(query?.['fieldSelector'])),
      metadata: { resourceVersion: String(revision) },
    });
  }

  function itemsOf(resource: string, selector: string): object[] {
    const node = cluster.numberOfNode(selector.split('=')[1] ?? '');
    if (resource === 'nodes') return [cluster.nodeObject(node)];
    return resource === 'pods' ? cluster.podsOf(node) : [];
  }

  function blockNamed(name: string): object {
    const address = name.split('-').slice(0, 4).join('.');
    const node = cluster.ownerOf(address)?.node ?? 0;
    const pods = Array.from({ length: cluster.podsPerNode }, (_, pod) => cluster.podName(node, pod));
    return {
      spec: {
        allocations: Array.from({ length: blockSize }, (_, index) => (index < pods.length ? index : null)),
        attributes: pods.map((pod) => ({ secondary: { namespace: pod.namespace, pod: pod.name } })),
      },
    };
  }

  /** A Pod by name, for example `app-7-00f3a`. */
  function podNamed(name: string): object {
    const [, pod, node] = name.split('-');
    return cluster.podObject(parseInt(node ?? '', 16), Number(pod));
  }

  function create(path: string, event: CoreEvent): Answer {
    const key = `${path}/${event.metadata.name}`;
    if (eventAt(key) !== undefined) return refused(409, 'already exists');
    const bytes = JSON.stringify(event).length + eventOverhead;
    measurements.reported(event.involvedObject.uid ?? '');
    return eventAnswer(store(key, { bytes, body: kept(event) }, undefined));
  }

  function patch(key: string, event: CoreEvent): Answer {
    const known = eventAt(key);
    if (known === undefined) return refused(404, 'not found');
    const { resourceVersion } = event.metadata as { resourceVersion?: string };
    if (resourceVersion !== undefined && resourceVersion !== versionOf(known)) return refused(409, 'modified');
    const body = kept({ ...known.body, ...event, metadata: { ...known.body.metadata, ...event.metadata } });
    return eventAnswer(store(key, { bytes: known.bytes, body }, known.expires));
  }

  function store(key: string, event: Omit<StoredEvent, 'expires'>, before: Millis | undefined): StoredEvent {
    const stored = { ...event, expires: now() + eventLifetime };
    (stored.body.metadata as { resourceVersion?: string }).resourceVersion = String(++revision);
    events.set(key, stored);
    measurements.stored(stored.bytes, stored.expires, before);
    return stored;
  }

  function eventAt(key: string): StoredEvent | undefined {
    const found = events.get(key);
    return found === undefined || found.expires <= now() ? undefined : found;
  }

  function forgetExpired(): void {
    for (const [key, { expires }] of events) if (expires <= now()) events.delete(key);
    schedule(forgetExpired, eventLifetime / 6);
  }
}

/** Leaves out the longest text, which nothing reads, so that the Events of a large cluster fit into memory. */
function kept({ metadata, ...event }: CoreEvent): StoredEvent['body'] {
  return { ...event, message: '', metadata: { ...metadata } };
}

function versionOf({ body }: StoredEvent): string | undefined {
  return (body.metadata as { resourceVersion?: string }).resourceVersion;
}

function eventAnswer(event: StoredEvent | undefined): Answer {
  return event === undefined ? refused(404, 'not found') : answered(event.body);
}

function answered(body: object): Answer {
  return { kind: 'answered', body };
}

function refused(status: number, message: string, retryAfter?: Millis): Refusal {
  return { kind: 'refused', status, reason: '', message, retryAfter };
}

function kindOf(verb: 'GET' | 'POST' | 'PATCH', path: string, query: Query | undefined): RequestKind {
  if (verb === 'POST') return path.endsWith('/events') ? 'create Event' : 'review';
  if (verb === 'PATCH') return 'patch Event';
  if (path.includes('/events/')) return 'read Event';
  if (path.includes('/ipamblocks/')) return 'read block';
  if (query?.['limit'] === 1) return 'count';
  if (path === '/api/v1/pods') return 'list Pods of a node';
  return /\/(?:felixconfigurations|pods)\//.test(path) ? 'read object' : 'list';
}
