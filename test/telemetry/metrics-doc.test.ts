import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { MetricRow } from '../../src/telemetry/metric-table.ts';
import { allMetrics } from '../../src/telemetry/metrics.ts';

const document = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

/** `verdict` (dropped, rejected) */
function labelsOf({ labels }: MetricRow): string {
  return Object.entries(labels)
    .map(([name, values]) => `\`${name}\` (${typeof values === 'string' ? values : values.join(', ')})`)
    .join(', ');
}

function tableOf(rows: readonly MetricRow[]): string {
  const lines = rows.map((row) => `| \`${row.name}\` | ${row.type} | ${labelsOf(row)} | ${row.help} |`);
  return ['| metric | type | labels | what |', '|---|---|---|---|', ...lines].join('\n');
}

test('docs/metrics.md has the metrics that there are', () => {
  const expected = tableOf(allMetrics);
  const [, found] = /^(\| metric \|.*(?:\n\|.*)*)$/m.exec(document) ?? [];
  expect(found, `docs/metrics.md is out of date; put this in:\n\n${expected}\n`).toBe(expected);
});
