import type { MemoryBudget } from '../../base/platform/memory-budget.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, type LabelValues, Registry } from 'prom-client';
import type { LegacyMetric } from './legacy-metric.ts';
import { counter, gauge, histogram, type MetricRow, metricTable, type MetricTable, prefix } from './metric-table.ts';
import type { MetricsText } from './server.ts';

/** Of the 31 metrics of prom-client, these are kept; the others would cost too much on thousands of nodes. */
const processTable: readonly MetricRow[] = [
  counter('process_cpu_user_seconds_total', 'Processor time spent in the program.'),
  counter('process_cpu_system_seconds_total', 'Processor time spent in the kernel for the program.'),
  counter('process_cpu_seconds_total', 'Both together.'),
  gauge('process_start_time_seconds', 'When the program was started (Unix time).'),
  gauge('process_resident_memory_bytes', 'Memory in use.'),
  gauge('process_open_fds', 'Open file descriptors.'),
  gauge('process_max_fds', 'How many may be open.'),
  // prom-client sets the next two metrics when it collects this one.
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

/** Each scrape first calls `collect`, which sets the metrics that are counted elsewhere. Rejects if it throws. */
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

export function collectMemory(
  { keptBytes, keptBytesLimit, leftOutObjects }: Pick<Metrics, 'keptBytes' | 'keptBytesLimit' | 'leftOutObjects'>,
  { total, accounts }: Pick<MemoryBudget, 'total' | 'accounts'>,
): void {
  keptBytesLimit.set(total);
  for (const [resource, ofResource] of Map.groupBy(accounts, (account) => account.resource)) {
    keptBytes.set(
      ofResource.reduce((sum, { bytes }) => sum + bytes, 0),
      { resource },
    );
    leftOutObjects.set(
      ofResource.reduce((sum, { leftOut }) => sum + leftOut, 0),
      { resource },
    );
  }
}

function withPrefix(row: MetricRow): MetricRow {
  return { ...row, name: prefix + row.name };
}

/** In milliseconds. The default, 10, would wake the program 100 times a second for 0.05 to 0.2 ms of CPU. */
const eventLoopMonitoringPrecision = 1000;

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision, gcDurationBuckets: [0.01, 0.1, 1] });
  subtractInterval(registry, 'nodejs_eventloop_lag_mean_seconds');
  subtractInterval(registry, 'nodejs_eventloop_lag_max_seconds');
  const kept = new Set(processTable.map(({ name }) => name));
  for (const { name } of registry.getMetricsAsArray()) if (!kept.has(name)) registry.removeSingleMetric(name);
}

/** Subtracts the interval, because prom-client reports the time between two timers. NaN (no timer since the last scrape) becomes 0. */
function subtractInterval(registry: Registry, name: string): void {
  const metric = registry.getSingleMetric(name) as { set: (labels: LabelValues<string>, seconds: number) => void };
  const set = metric.set.bind(metric);
  metric.set = (labels, seconds) => set(labels, Math.max(0, (seconds || 0) - eventLoopMonitoringPrecision / 1000));
}

type Labels = Readonly<Record<string, string>>;

type LabelsOf<Row extends MetricRow> = {
  readonly [Name in keyof Row['labels']]: Row['labels'][Name] extends readonly string[]
    ? Row['labels'][Name][number]
    : string;
};
type LabelArguments<Row extends MetricRow> = keyof Row['labels'] extends never ? [] : [labels: LabelsOf<Row>];

interface CounterOf<Row extends MetricRow> {
  add: (count: number, ...labels: LabelArguments<Row>) => void;
  /** Sets a total that is counted elsewhere, because counting here takes 0.2 to 1 µs. */
  setTotal: (total: number, ...labels: LabelArguments<Row>) => void;
  /** Removes all series, so that those which are not set again are gone. */
  clear: () => void;
}

interface GaugeOf<Row extends MetricRow> {
  /** Removes the series if there is no value, because prom-client would show 0. */
  set: (value: number | undefined, ...labels: LabelArguments<Row>) => void;
}

interface HistogramOf<Row extends MetricRow> {
  observe: (value: number, ...labels: LabelArguments<Row>) => void;
}

export type MetricOf<Row extends MetricRow> = Row['type'] extends 'counter'
  ? CounterOf<Row>
  : Row['type'] extends 'gauge'
    ? GaugeOf<Row>
    : HistogramOf<Row>;

const limit = 256;

type AnyMetric = CounterOf<MetricRow> | GaugeOf<MetricRow> | HistogramOf<MetricRow>;

function createMetric(row: MetricRow, registry: Registry): AnyMetric {
  const { type, help, buckets = [] } = row;
  const options = { name: prefix + row.name, help, labelNames: Object.keys(row.labels), registers: [registry] };
  const bounds = createBounds(row);
  switch (type) {
    case 'counter': {
      const metric = new Counter(options);
      for (const labels of combinationsOf(row)) metric.inc(labels, 0);
      return {
        add: (count: number, labels: Labels = {}) => metric.inc(bounds.admit(labels) ?? bounds.others, count),
        setTotal(total: number, given: Labels = {}) {
          const labels = bounds.admit(given);
          if (labels === undefined) return;
          metric.remove(labels);
          metric.inc(labels, total);
        },
        clear() {
          metric.reset();
          bounds.clear();
        },
      };
    }
    case 'gauge': {
      const metric = new Gauge(options);
      return {
        set(value: number | undefined, given: Labels = {}) {
          const labels = bounds.admit(given);
          if (labels === undefined) return;
          if (value === undefined) metric.remove(labels);
          else metric.set(labels, value);
        },
      };
    }
    case 'histogram': {
      const metric = new Histogram({ ...options, buckets: [...buckets] });
      return {
        observe: (value: number, labels: Labels = {}) => metric.observe(bounds.admit(labels) ?? bounds.others, value),
      };
    }
    default:
      return type satisfies never;
  }
}

/** Limits the label values. Past the limit, `add` and `observe` count under `other`, and values that are set are left out. */
function createBounds({ labels }: MetricRow) {
  const names = Object.keys(labels);
  const seen = new Set<string>();
  return {
    admit(given: Labels): Labels | undefined {
      const key = JSON.stringify(names.map((name) => given[name]));
      if (seen.has(key)) return given;
      if (seen.size >= limit) return undefined;
      seen.add(key);
      return given;
    },
    clear: (): void => seen.clear(),
    others: Object.fromEntries(names.map((name) => [name, 'other'])) as Labels,
  };
}

/** Prometheus misses the first increase of a new series, so a counter with one label that has a list of values begins with all of them. */
function combinationsOf({ labels }: MetricRow): Labels[] {
  const [[name, values] = ['', ''], ...more] = Object.entries(labels);
  return typeof values === 'string' || more.length > 0 ? [] : values.map((value) => ({ [name]: value }));
}
