import { Registry } from 'prom-client';
import { createMetric, type MetricOf } from './metric.ts';
import type { MetricRow } from './metric-row.ts';
import { metricTable, type MetricTable, prefix } from './metric-table.ts';
import { addProcessMetrics, processTable } from './process-metrics.ts';

/** What a scrape shows, by full name. */
export const allMetrics: readonly MetricRow[] = [...Object.values(metricTable).map(withPrefix), ...processTable];

type MetricsByName = { readonly [Name in keyof MetricTable]: MetricOf<MetricTable[Name]> };

/** All metrics of the program, by their names in the table; times in seconds, as Prometheus has them. */
export interface Metrics extends MetricsByName {
  readonly contentType: string;
  /** The answer to a scrape. Rejects when `onScrape` throws. */
  text: () => Promise<string>;
}

export interface MetricsOptions {
  version: string;
  /** Called before each scrape, to set what mirrors state kept elsewhere. */
  onScrape?: ((metrics: Metrics) => void) | undefined;
}

export function createMetrics({ version, onScrape }: MetricsOptions): Metrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  const metrics: Metrics = {
    ...createAll(registry),
    contentType: registry.contentType,
    async text() {
      onScrape?.(metrics);
      return await registry.metrics();
    },
  };
  metrics.buildInfo.set(1, { version, node_version: process.version });
  return metrics;
}

function createAll(registry: Registry): MetricsByName {
  const entries = Object.entries(metricTable).map(([name, row]) => [name, createMetric(row, registry)]);
  return Object.fromEntries(entries) as MetricsByName;
}

function withPrefix(row: MetricRow): MetricRow {
  return { ...row, name: prefix + row.name };
}
