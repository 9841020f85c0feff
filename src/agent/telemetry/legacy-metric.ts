import { LRUCache } from 'lru-cache';
import { Counter, Registry } from 'prom-client';
import type { LegacyMetricSetting } from '../../base/model/choices.ts';
import type { Endpoint, Ends, ObjectRef } from '../../base/model/endpoint.ts';
import { printable } from '../../base/platform/printable.ts';

export type Naming = Exclude<LegacyMetricSetting, 'off'>;

/** kube-iptables-tailer's metric, for dashboards and alerts that already use it. */
export interface LegacyMetric {
  count: (ends: Ends, packets: number) => void;
  text: () => Promise<string>;
}

interface LegacyMetricOptions {
  naming: Naming;
  hostNameOf: (address: string) => string | undefined;
  limit?: number;
}

const others = { src: 'other', dst: 'other' };

const candidatesPerPlace = 4;

/** The most characters of a label, because the owner of an outside address chooses its host name. */
const longest = 128;

const namings: Readonly<Record<Naming, (object: ObjectRef, workload: Endpoint['workload']) => string>> = {
  namespace: ({ namespace = '' }) => namespace,
  name: ({ name }) => name,
  name_with_namespace: ({ namespace = '', name }) => `${namespace}/${name}`,
  workload: ({ name }, workload) => workload?.name ?? name,
};

interface Pair {
  labels: { src: string; dst: string };
  packets: number;
}

/** Shows the busiest pairs. A new one needs over twice the packets of the smallest to replace it; a shown time series only grows. */
export function createLegacyMetric({ naming, hostNameOf, limit = 200 }: LegacyMetricOptions): LegacyMetric {
  const registry = new Registry();
  const counter = new Counter({
    name: 'packet_drops_count',
    help: 'Lost packets by their two ends, as kube-iptables-tailer names them; other: beyond the busiest pairs.',
    labelNames: ['src', 'dst'],
    registers: [registry],
  });
  const placed = new Map<string, Pair>();
  const candidates = new LRUCache<string, number>({ max: limit * candidatesPerPlace });
  /** No shown pair has fewer packets than this. */
  let least = 0;

  return { count, text: (): Promise<string> => registry.metrics() };

  function count(ends: Ends, packets: number): void {
    const labels = { src: nameOf(ends.source), dst: nameOf(ends.destination) };
    const key = JSON.stringify([labels.src, labels.dst]);
    const pair = placed.get(key) ?? place(key, labels);
    if (pair === undefined) {
      candidates.set(key, (candidates.get(key) ?? 0) + packets);
      counter.inc(others, packets);
    } else {
      pair.packets += packets;
      counter.inc(labels, packets);
    }
  }

  function place(key: string, labels: Pair['labels']): Pair | undefined {
    const before = candidates.get(key) ?? 0;
    if (placed.size >= limit && !(before > 2 * least && makeRoom(before))) return undefined;
    candidates.delete(key);
    // `packets` includes those that were counted as `other` before.
    const pair = { labels, packets: before };
    placed.set(key, pair);
    return pair;
  }

  function makeRoom(packets: number): boolean {
    let weakest: [string, Pair] | undefined;
    for (const each of placed) if (weakest === undefined || each[1].packets < weakest[1].packets) weakest = each;
    least = weakest?.[1].packets ?? 0;
    if (weakest === undefined || packets <= 2 * least) return false;
    const [key, pair] = weakest;
    placed.delete(key);
    candidates.set(key, pair.packets);
    counter.remove(pair.labels);
    return true;
  }

  function nameOf({ kind, address, object, workload }: Endpoint): string {
    // As in kube-iptables-tailer, a Pod on the host's network has the name of its Node.
    const nameOfObject = kind === 'node' ? namings.name : namings[naming];
    const name = object === undefined ? (hostNameOf(address) ?? address) : nameOfObject(object, workload);
    return printable(name).slice(0, longest).toWellFormed();
  }
}
