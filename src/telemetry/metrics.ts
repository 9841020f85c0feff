import { collectDefaultMetrics, type LabelValues, Registry } from 'prom-client';
import type { LegacyMetric } from './legacy-metric.ts';
import { createMetric, type MetricOf } from './metric.ts';
import { counter, gauge, histogram, type MetricRow } from './metric-row.ts';
import { metricTable, type MetricTable, prefix } from './metric-table.ts';
import type { MetricsText } from './server.ts';

/** The metrics of prom-client that are kept; the others are five times as many, on each of thousands of nodes. */
const processTable: readonly MetricRow[] = [
  counter('process_cpu_user_seconds_total', 'Processor time spent in the program.'),
  counter('process_cpu_system_seconds_total', 'Processor time spent in the kernel for the program.'),
  counter('process_cpu_seconds_total', 'Both together.'),
  gauge('process_start_time_seconds', 'When the program was started (Unix time).'),
  gauge('process_resident_memory_bytes', 'Memory in use.'),
  gauge('process_open_fds', 'Open file descriptors.'),
  gauge('process_max_fds', 'How many may be open.'),
  // The next two are set when this one is.
  gauge('nodejs_eventloop_lag_seconds', 'How long the event loop took to come round at the last scrape.'),
  gauge(
    'nodejs_eventloop_lag_mean_seconds',
    'How late the event loop came to a timer of one second, on average since the last scrape.',
  ),
  gauge('nodejs_eventloop_lag_max_seconds', 'The latest of these.'),
  gauge('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.'),
  gauge('nodejs_heap_size_used_bytes', 'How much of it is in use.'),
  gauge('nodejs_external_memory_bytes', 'Memory that JavaScript objects hold outside the heap.'),
  histogram('nodejs_gc_duration_seconds', 'Garbage collections.', {
    kind: ['minor', 'major', 'incremental', 'weakcb'],
  }),
];

export const allMetrics: readonly MetricRow[] = [...Object.values(metricTable).map(withPrefix), ...processTable];

type MetricsByName = { readonly [Name in keyof MetricTable]: MetricOf<MetricTable[Name]> };

/** All metrics of the program, by their names in the table; times in seconds, as Prometheus has them. */
export interface Metrics extends MetricsByName, MetricsText {}

export function createMetrics({ version }: { version: string }): Metrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  const entries = Object.entries(metricTable).map(([name, row]) => [name, createMetric(row, registry)]);
  const metrics: Metrics = {
    ...(Object.fromEntries(entries) as MetricsByName),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
  metrics.buildInfo.set(1, { version, node_version: process.version });
  return metrics;
}

/** The answer to a scrape, for which `collect` sets what is counted elsewhere. Rejects when that throws. */
export function scrapeOf(metrics: Metrics, legacyMetric: LegacyMetric | undefined, collect: () => void): MetricsText {
  return {
    contentType: metrics.contentType,
    async text() {
      collect();
      const text = await metrics.text();
      return legacyMetric === undefined ? text : `${text}\n${await legacyMetric.text()}`;
    },
  };
}

function withPrefix(row: MetricRow): MetricRow {
  return { ...row, name: prefix + row.name };
}

/** Milliseconds. Looking every 10 ms, prom-client's default, is 100 wake-ups a second, each of 0.05 to 0.2 ms of CPU. */
const eventLoopMonitoringPrecision = 1000;

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision, gcDurationBuckets: [0.01, 0.1, 1] });
  subtractInterval(registry, 'nodejs_eventloop_lag_mean_seconds');
  subtractInterval(registry, 'nodejs_eventloop_lag_max_seconds');
  const kept = new Set(processTable.map(({ name }) => name));
  for (const { name } of registry.getMetricsAsArray()) if (!kept.has(name)) registry.removeSingleMetric(name);
}

/** Makes a lag of what prom-client sets, the time between two looks; that is NaN where there was none since the last scrape. */
function subtractInterval(registry: Registry, name: string): void {
  const metric = registry.getSingleMetric(name) as { set: (labels: LabelValues<string>, seconds: number) => void };
  const set = metric.set.bind(metric);
  metric.set = (labels, seconds) => set(labels, Math.max(0, (seconds || 0) - eventLoopMonitoringPrecision / 1000));
}
