/** Writes the table in docs/metrics.md from the metrics that the program has, without those of its process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type MetricRow, prefix } from '../src/agent/telemetry/metric-table.ts';
import { allMetrics } from '../src/agent/telemetry/metrics.ts';

const path = new URL('../docs/metrics.md', import.meta.url);
const table = /^\| metric \|.*(?:\n\|.*)*$/m;

/** The document with the table as it should be; throws if it has none. */
export function withMetricsTable(document: string): string {
  if (!table.test(document)) throw new Error('docs/metrics.md has no table that begins with "| metric |"');
  return document.replace(table, () => tableOf(allMetrics.filter(({ name }) => name.startsWith(prefix))));
}

function tableOf(rows: readonly MetricRow[]): string {
  const explained = new Set<string>();
  const lines = rows.map((row) => `| \`${row.name}\` | ${labelsOf(row, explained)} | ${helpOf(row)} |`);
  return ['| metric | labels | what |', '|---|---|---|', ...lines].join('\n');
}

/** Names show the other types: counters end in `_total`, and what is left is a gauge. */
function helpOf({ type, help }: MetricRow): string {
  return type === 'histogram' ? `Histogram. ${help}` : help;
}

/** `verdict` (dropped, rejected); what a label holds is said once. */
function labelsOf({ labels }: MetricRow, explained: Set<string>): string {
  return Object.entries(labels)
    .map(([name, values]) => {
      const about = typeof values === 'string' ? values : values.join(', ');
      const known = explained.has(`${name} ${about}`);
      explained.add(`${name} ${about}`);
      return known ? `\`${name}\`` : `\`${name}\` (${about})`;
    })
    .join(', ');
}

if (import.meta.main) {
  const before = readFileSync(path, 'utf8');
  const after = withMetricsTable(before);
  writeFileSync(path, after);
  process.stdout.write(after === before ? 'docs/metrics.md is up to date\n' : 'docs/metrics.md was written\n');
}
