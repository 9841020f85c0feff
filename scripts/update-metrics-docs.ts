/** Writes the table in docs/metrics.md from the metrics that the program has. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { MetricRow } from '../src/telemetry/metric-row.ts';
import { allMetrics } from '../src/telemetry/metrics.ts';

const path = new URL('../docs/metrics.md', import.meta.url);
const table = /^\| metric \|.*(?:\n\|.*)*$/m;

/** Combinations of labels that one metric shows, and one more for `other`; src/telemetry/metric.ts holds it. */
const most = 257;

/** The document with the table as it should be; throws if it has none. */
export function withMetricsTable(document: string): string {
  if (!table.test(document)) throw new Error('docs/metrics.md has no table that begins with "| metric |"');
  return document.replace(table, () => tableOf(allMetrics));
}

/** Series that one agent shows of a metric at most. A histogram has one for each bucket, one for all, a sum and a count. */
export function seriesOf({ type, labels, buckets = [] }: Pick<MetricRow, 'type' | 'labels' | 'buckets'>): number {
  const combinations = Object.values(labels).reduce(
    (product, values) => product * (typeof values === 'string' ? most : values.length),
    1,
  );
  return Math.min(combinations, most) * (type === 'histogram' ? buckets.length + 3 : 1);
}

function tableOf(rows: readonly MetricRow[]): string {
  const lines = rows.map(
    (row) => `| \`${row.name}\` | ${row.type} | ${labelsOf(row)} | ${seriesOf(row)} | ${row.help} |`,
  );
  return ['| metric | type | labels | series at most | what |', '|---|---|---|---|---|', ...lines].join('\n');
}

/** `verdict` (dropped, rejected) */
function labelsOf({ labels }: MetricRow): string {
  return Object.entries(labels)
    .map(([name, values]) => `\`${name}\` (${typeof values === 'string' ? values : values.join(', ')})`)
    .join(', ');
}

if (import.meta.main) {
  const before = readFileSync(path, 'utf8');
  const after = withMetricsTable(before);
  writeFileSync(path, after);
  process.stdout.write(after === before ? 'docs/metrics.md is up to date\n' : 'docs/metrics.md was written\n');
}
