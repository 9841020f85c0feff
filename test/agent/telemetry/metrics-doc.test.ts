import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withMetricsTable } from '../../../scripts/update-metrics-docs.ts';
import { allMetrics } from '../../../src/agent/telemetry/metrics.ts';

const document = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');

test('docs/metrics.md lists all metrics', () => {
  expect(withMetricsTable(document), 'run: node scripts/update-metrics-docs.ts').toBe(document);
});

test('a document without the table is refused', () => {
  expect(() => withMetricsTable('# Metrics\n')).toThrow('has no table');
});

test('the type of a metric follows from its name, as docs/metrics.md says', () => {
  const others = allMetrics.filter(({ type }) => type !== 'histogram');
  expect(others.filter(({ name, type }) => (type === 'counter') !== name.endsWith('_total'))).toEqual([]);
});
