import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Endpoint, Ends } from '../../../src/base/model/endpoint.ts';
import { createStatistics } from '../../../src/count/pipeline/statistics.ts';
import { createLegacyMetric, type LegacyMetric, type Naming } from '../../../src/agent/telemetry/legacy-metric.ts';
import { createMetrics, scrapeOf } from '../../../src/agent/telemetry/metrics.ts';
import { ends, externalEnd, nodeEnd, podEnd, podRef, serviceEnd } from '../../builders.ts';
import { forAllAsync } from '../../for-all.ts';

const pod = (namespace: string, name: string, workload?: string): Endpoint =>
  podEnd({
    object: podRef(name, namespace),
    workload: workload === undefined ? undefined : { kind: 'Deployment', namespace, name: workload },
  });
const from = (source: Endpoint, destination = externalEnd()): Ends => ends({ source, destination });
/** Between two addresses of no known object. */
const pair = (source: number, destination = 0): Ends =>
  from(externalEnd({ address: `s${source}` }), externalEnd({ address: `d${destination}` }));

/** Time series by `src dst`. */
async function shown(metric: LegacyMetric): Promise<Record<string, number>> {
  const found = (await metric.text()).matchAll(/^packet_drops_count\{src="(.*?)",dst="(.*?)"\} (\d+)$/gm);
  return Object.fromEntries(
    [...found].map(([, source, destination, count]) => [`${source} ${destination}`, Number(count)]),
  );
}

const open = (naming: Naming = 'namespace', limit?: number) =>
  createLegacyMetric({
    naming,
    hostNameOf: (address) => (address === '192.0.2.1' ? 'db.example.org' : undefined),
    ...(limit && { limit }),
  });

test.each<[Naming, string | undefined, string]>([
  ['namespace', 'web', 'shop'],
  ['name', 'web', 'web-5d9c-x7k2p'],
  ['name_with_namespace', 'web', 'shop/web-5d9c-x7k2p'],
  ['workload', 'web', 'web'],
  ['workload', undefined, 'web-5d9c-x7k2p'],
])('with the naming %s, a Pod of the workload %s is %s', async (naming, workload, expected) => {
  const metric = open(naming);
  metric.count(from(pod('shop', 'web-5d9c-x7k2p', workload)), 1);
  expect(await shown(metric)).toEqual({ [`${expected} 203.0.113.9`]: 1 });
});

test('nodes, Services, host names and addresses have the same names with every naming', async () => {
  const metric = open('namespace');
  metric.count(from(nodeEnd(), serviceEnd()), 1);
  metric.count(from(externalEnd({ address: '192.0.2.1' }), externalEnd({ address: '2001:db8::1' })), 1);
  expect(await shown(metric)).toEqual({ 'node-a shop': 1, 'db.example.org 2001:db8::1': 1 });
});

test('names of the ends of a packet have a limited length', async () => {
  const metric = open();
  metric.count(from(externalEnd({ address: 'x'.repeat(10_000) })), 1);
  expect((await metric.text()).length).toBeLessThan(1000);
});

test('at most as many pairs as the limit have their own time series; all others share one', async () => {
  const metric = open('namespace', 2);
  for (const source of [1, 2, 3, 4]) metric.count(pair(source), 1);
  expect(await shown(metric)).toEqual({ 's1 d0': 1, 's2 d0': 1, 'other other': 2 });
});

test('a busy pair takes the place of the least busy one, and starts from zero', async () => {
  const metric = open('namespace', 2);
  metric.count(pair(1), 10);
  metric.count(pair(2), 3);
  metric.count(pair(3), 7);
  metric.count(pair(3), 5);
  expect(await shown(metric)).toEqual({ 's1 d0': 10, 's3 d0': 5, 'other other': 7 });
});

test('two equally busy pairs do not displace each other', async () => {
  const metric = open('namespace', 1);
  for (let i = 0; i < 100; i++) {
    metric.count(pair(1), 1);
    metric.count(pair(2), 1);
  }
  expect(await shown(metric)).toEqual({ 's1 d0': 100, 'other other': 100 });
});

test('busy pairs are found in a flood of other pairs', async () => {
  const metric = open('namespace', 10);
  for (let i = 0; i < 20_000; i++) {
    metric.count(pair(i + 100), 1);
    if (i % 10 === 0) metric.count(pair(1), 1);
  }
  const series = await shown(metric);
  expect(Object.keys(series)).toHaveLength(11);
  expect(series['s1 d0']).toBeGreaterThan(1900);
});

test('every packet is counted once, and a time series only ever falls to zero', async () => {
  await forAllAsync(
    [fc.array(fc.tuple(fc.nat(6), fc.nat(2), fc.integer({ min: 1, max: 5 })), { maxLength: 60 })],
    {
      numRuns: 50,
    },
    async (packets) => {
      const metric = open('namespace', 3);
      let before: Record<string, number> = {};
      for (const [source, destination, count] of packets) {
        metric.count(pair(source, destination), count);
        const series = await shown(metric);
        expect(Object.keys(series).length).toBeLessThanOrEqual(4);
        let grown = 0;
        for (const [key, value] of Object.entries(series)) {
          expect(value).toBeGreaterThanOrEqual(before[key] ?? 0);
          grown += value - (before[key] ?? 0);
        }
        expect(grown).toBe(count);
        before = series;
      }
    },
  );
});

test('lost packets are counted here and in the statistics, noise only in the statistics', async () => {
  const metric = open('namespace');
  const statistics = createStatistics(metric.count);
  statistics.resolved(from(pod('shop', 'a')), false, 5);
  statistics.resolved(from(pod('shop', 'a')), true, 7);
  expect(await shown(metric)).toEqual({ 'shop 203.0.113.9': 5 });
  expect(statistics).toMatchObject({ withPods: 5, noise: 7 });
});

test('a scrape has this metric after all others', async () => {
  const metrics = createMetrics({ version: '1' });
  const metric = open('namespace');
  metric.count(pair(1), 2);
  const both = scrapeOf(metrics, metric, () => {});
  expect(both.contentType).toBe(metrics.contentType);
  const text = await both.text();
  expect(text).toMatch(/^kube_netfilter_tailer_build_info\{.*\} 1$/m);
  expect(text).toMatch(/^# TYPE packet_drops_count counter\npacket_drops_count\{src="s1",dst="d0"\} 2$/m);
  expect(text).not.toMatch(/[^\n]# HELP/);
});
