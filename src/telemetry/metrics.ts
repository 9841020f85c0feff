import { Registry } from 'prom-client';
import type { LegacyMetric } from './legacy-metric.ts';
import { createMetric, type MetricOf } from './metric.ts';
import type { MetricRow } from './metric-row.ts';
import { metricTable, type MetricTable, prefix } from './metric-table.ts';
import { addProcessMetrics, processTable } from './process-metrics.ts';
import type { MetricsText } from './server.ts';

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
