import perfHooks from 'node:perf_hooks';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { addProcessMetrics, allMetrics, createMetrics, scrapeOf } from '../../../src/agent/telemetry/metrics.ts';
import { metricTable, prefix } from '../../../src/agent/telemetry/metric-table.ts';

function scene() {
  const metrics = createMetrics({ version: '1.2.3' });
  return { metrics, samples: async () => samplesOf(await metrics.text()) };
}

/** Our own samples: name, without the prefix, and labels → value. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(prefix));
  return Object.fromEntries(lines.map((line) => [line.slice(prefix.length, line.lastIndexOf(' ')), valueOf(line)]));
}

function valueOf(line: string): number {
  return Number(line.slice(line.lastIndexOf(' ')));
}

function fill(take: (source: string) => void): void {
  for (let i = 0; i < 300; i++) take(`source ${i}`);
}

/** Combinations of labels shown. */
function shownOf(samples: Record<string, number>, name: string): number {
  return Object.keys(samples).filter((each) => each.startsWith(`${name}{`)).length;
}

test('at first, only metrics that can start at zero exist', async () => {
  const { samples } = scene();
  const names = Object.keys(await samples()).filter((name) => name.includes('{'));
  const results = ['hit', 'miss', 'failed', 'refused', 'cached'];
  expect(names.toSorted()).toEqual(
    [
      ...['dropped', 'rejected', 'logged', 'accepted'].map((verdict) => `packets_total{verdict="${verdict}"}`),
      ...results.map((result) => `pod_lookups_total{result="${result}"}`),
      ...results.map((result) => `dns_lookups_total{result="${result}"}`),
      ...['denied', 'told', 'unproven', 'foreign', 'overflowed'].map(
        (result) => `connect_failures_total{result="${result}"}`,
      ),
      ...['ok', 'failed'].map((result) => `config_reloads_total{result="${result}"}`),
      `build_info{version="1.2.3",node_version="${process.version}"}`,
    ].toSorted(),
  );
});

test('counters count', async () => {
  const { metrics, samples } = scene();
  metrics.unparsable.add(1);
  metrics.unparsable.add(2);
  metrics.packets.add(5, { verdict: 'dropped' });
  metrics.eventWrites.add(1, { verb: 'create', result: 'ok' });
  metrics.eventWrites.add(1, { result: 'ok', verb: 'create' });
  expect(await samples()).toMatchObject({
    unparsable_total: 3,
    'packets_total{verdict="dropped"}': 5,
    'packets_total{verdict="rejected"}': 0,
    'event_writes_total{verb="create",result="ok"}': 2,
  });
});

test('a counter may show a total from elsewhere', async () => {
  const { metrics, samples } = scene();
  for (const total of [3, 7, 7]) {
    metrics.noise.setTotal(total);
    metrics.lines.setTotal(total * 10, { source: '/dev/kmsg' });
    metrics.packets.setTotal(total * 100, { verdict: 'logged' });
  }
  metrics.lines.setTotal(1, { source: 'kube-proxy' });
  expect(await samples()).toMatchObject({
    noise_total: 7,
    'lines_total{source="/dev/kmsg"}': 70,
    'lines_total{source="kube-proxy"}': 1,
    'packets_total{verdict="logged"}': 700,
  });
});

test('gauges show the last value', async () => {
  const { metrics, samples } = scene();
  metrics.series.set(4);
  metrics.series.set(3);
  metrics.sourceState.set(1, { source: 'a', state: 'reading' });
  metrics.sourceState.set(0, { source: 'a', state: 'waiting' });
  expect(await samples()).toMatchObject({
    series: 3,
    'source_state{source="a",state="reading"}': 1,
    'source_state{source="a",state="waiting"}': 0,
  });
});

test('a histogram counts seconds', async () => {
  const { metrics, samples } = scene();
  metrics.apiRequestSeconds.observe(0.3, { verb: 'GET' });
  metrics.apiRequestSeconds.observe(60, { verb: 'GET' });
  expect(await samples()).toMatchObject({
    'api_request_seconds_bucket{le="0.25",verb="GET"}': 0,
    'api_request_seconds_bucket{le="1",verb="GET"}': 1,
    'api_request_seconds_bucket{le="30",verb="GET"}': 1,
    'api_request_seconds_bucket{le="+Inf",verb="GET"}': 2,
    'api_request_seconds_count{verb="GET"}': 2,
  });
});

test('each scrape first collects values that are counted elsewhere', async () => {
  let size = 0;
  const { metrics } = scene();
  const scrape = scrapeOf(metrics, undefined, () => metrics.series.set(++size));
  expect(size).toBe(0);
  expect(samplesOf(await scrape.text())['series']).toBe(1);
  expect(samplesOf(await scrape.text())['series']).toBe(2);
  expect(scrape.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('a scrape fails if values counted elsewhere cannot be collected', async () => {
  const scrape = scrapeOf(scene().metrics, undefined, () => {
    throw new Error('no');
  });
  await expect(scrape.text()).rejects.toThrow('no');
});

test('a scrape shows the process: processor time, memory, event loop', async () => {
  const { metrics } = scene();
  const text = await metrics.text();
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
  expect(text).toMatch(/^process_cpu_seconds_total /m);
  expect(text).toMatch(/^nodejs_heap_size_used_bytes [1-9]\d+$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_max_seconds /m);
});

test.each([
  ['late', { mean: 1.004e9, max: 1.25e9 }, [0.004, 0.25]],
  ['on time', { mean: 0.9999e9, max: 1e9 }, [0, 0]],
  ['not looked at since the last scrape', { mean: Number.NaN, max: 0 }, [0, 0]],
])(
  'the lag of an event loop that is %s does not include the second between two measurements',
  async (_, looks, lags) => {
    const histogram = { ...looks, min: 0, stddev: 0, percentile: () => 0, enable: () => true, reset: () => {} };
    const spy = vi.spyOn(perfHooks, 'monitorEventLoopDelay').mockReturnValue(histogram as never);
    onTestFinished(() => spy.mockRestore());
    const registry = new Registry();
    addProcessMetrics(registry);
    await registry.metrics();
    const lagOf = async (name: string): Promise<number | undefined> =>
      (await registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`)?.get())?.values[0]?.value;
    expect([await lagOf('mean'), await lagOf('max')]).toEqual(lags.map((lag) => expect.closeTo(lag, 6)));
  },
);

test('counts past 256 combinations of labels are added under other', async () => {
  const { metrics, samples } = scene();
  fill((source) => metrics.lostRecords.add(2, { source }));
  metrics.lostRecords.add(1, { source: 'source 0' });
  const after = await samples();
  expect(shownOf(after, 'lost_records_total')).toBe(257);
  expect(after['lost_records_total{source="other"}']).toBe(88);
  expect(after['lost_records_total{source="source 0"}']).toBe(3);
});

test('256 combinations of labels are kept, whatever their number and order', async () => {
  const { metrics, samples } = scene();
  fill((code) => metrics.apiRequests.add(1, { verb: 'GET', resource: 'pods', code }));
  metrics.apiRequests.add(1, { code: 'source 0', resource: 'pods', verb: 'GET' });
  fill((verb) => metrics.apiRequestSeconds.observe(0.1, { verb }));
  const after = await samples();
  expect(after['api_requests_total{verb="other",resource="other",code="other"}']).toBe(44);
  expect(after['api_requests_total{verb="GET",resource="pods",code="source 0"}']).toBe(2);
  expect(after['api_request_seconds_count{verb="other"}']).toBe(44);
});

test('gauges past 256 combinations of labels are left out, because they would be wrong under other', async () => {
  const { metrics, samples } = scene();
  fill((source) => {
    metrics.lines.setTotal(5, { source });
    metrics.sourceState.set(1, { source, state: 'reading' });
  });
  const after = await samples();
  expect(shownOf(after, 'lines_total')).toBe(256);
  expect(shownOf(after, 'source_state')).toBe(256);
});

test('the table lists exactly the metrics of a scrape', async () => {
  const { metrics } = scene();
  const shown = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  expect(shown.toSorted()).toEqual(allMetrics.map(({ name, type }) => `${name} ${type}`).toSorted());
});

test('the table follows the conventions of Prometheus', () => {
  for (const { name, type, help } of Object.values(metricTable)) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(help).toMatch(/^[A-Z0-9].*\.$/);
  }
});
