import type { MetricRow } from './metric-row.ts';
import { counting } from './tables/ingest.ts';
import { knowing } from './tables/cluster.ts';
import { own } from './tables/own.ts';
import { publishing } from './tables/publishing.ts';
import { reading } from './tables/reading.ts';

export const prefix = 'kube_netfilter_tailer_';

/** Every metric of the program itself; docs/metrics.md is checked against it. */
export const metricTable = { ...reading, ...counting, ...publishing, ...knowing, ...own } as const satisfies Record<
  string,
  MetricRow
>;

export type MetricTable = typeof metricTable;
