import type { Millis } from '../../src/base/model/log-line.ts';

/** The kinds of requests to the API server, which differ in cost. */
export type RequestKind =
  | 'create Event'
  | 'patch Event'
  | 'read Event'
  | 'list Pods of a node'
  | 'list'
  | 'count'
  | 'watch'
  | 'read block'
  | 'read object'
  | 'review';

export type Measurements = ReturnType<typeof createMeasurements>;

export interface Results {
  /** Writes in each second since the start. */
  writes: Float64Array;
  reads: Float64Array;
  /** Milliseconds of CPU time. */
  cpu: Float64Array;
  throttled: number;
  /** Events in etcd at the end of each second, and their bytes. */
  events: Float64Array;
  bytes: Float64Array;
  /** Writes of each node. */
  nodes: Float64Array;
  /** How long affected Pods waited for their Event, sorted. */
  waits: Float64Array;
  affected: number;
}

const isWrite = (kind: RequestKind): boolean => kind === 'create Event' || kind === 'patch Event';

/** The requests to the API server, second by second, and how long affected Pods were without an Event. */
export function createMeasurements(start: Millis, end: Millis, nodes: number, now: () => Millis) {
  const seconds = Math.ceil((end - start) / 1000) + 1;
  const series = (): Float64Array => new Float64Array(seconds);
  const [writes, reads, cpu, events, bytes] = [series(), series(), series(), series(), series()];
  const byNode = new Float64Array(nodes);
  const since = new Map<string, Millis>();
  const waits = new Map<string, Millis>();
  let throttled = 0;

  return {
    request(kind: RequestKind, node: number, outcome: 'served' | 'throttled' | 'away', cost: Millis): void {
      if (outcome === 'away') return;
      const second = secondOf(now());
      add(isWrite(kind) ? writes : reads, second, 1);
      add(cpu, second, cost);
      if (outcome === 'throttled') throttled++;
      else if (isWrite(kind)) add(byNode, node, 1);
    },
    /**
     * An Event of this size was stored now and expires at `expires`; `before`: when it would have expired without this
     * write.
     */
    stored(size: number, expires: Millis, before: Millis | undefined): void {
      // These are differences; `results` adds them up.
      const from = secondOf(before ?? now());
      const to = secondOf(expires);
      add(events, from, 1);
      add(bytes, from, size);
      add(events, to, -1);
      add(bytes, to, -size);
    },
    /** Something happened to a Pod about which it should have an Event; only the first time counts. */
    affected(this: void, uid: string, at: Millis): void {
      if (!since.has(uid)) since.set(uid, at);
    },
    /** An Event about an object was created. */
    reported(uid: string): void {
      const at = since.get(uid);
      if (at !== undefined && !waits.has(uid)) waits.set(uid, now() - at);
    },
    results: (): Results => ({
      writes,
      reads,
      cpu,
      throttled,
      events: sums(events),
      bytes: sums(bytes),
      nodes: byNode,
      waits: Float64Array.from(waits.values()).toSorted(),
      affected: since.size,
    }),
  };

  function secondOf(time: Millis): number {
    return Math.floor((time - start) / 1000);
  }
}

function add(to: Float64Array, index: number, value: number): void {
  if (index >= 0 && index < to.length) to[index] = (to[index] ?? 0) + value;
}

function sums(differences: Float64Array): Float64Array {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}
