import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { seriesOf, withMetricsTable } from '../../scripts/update-metrics-docs.ts';

const document = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

test('docs/metrics.md has the metrics that there are', () => {
  expect(withMetricsTable(document), 'run: node scripts/update-metrics-docs.ts').toBe(document);
});

test('a document without the table is refused', () => {
  expect(() => withMetricsTable('# Metrics\n')).toThrow('has no table');
});

test.each([
  ['no labels', { type: 'gauge', labels: {} }, 1],
  ['listed values', { type: 'counter', labels: { verb: ['get', 'put'], result: ['ok', 'failed', 'gone'] } }, 6],
  ['any values', { type: 'counter', labels: { source: 'a source' } }, 257],
  ['listed and any values', { type: 'gauge', labels: { source: 'a source', state: ['on', 'off'] } }, 257],
  ['a histogram', { type: 'histogram', labels: { kind: ['minor', 'major'] }, buckets: [1, 2] }, 10],
] as const)('series of a metric with %s', (_, row, expected) => {
  expect(seriesOf(row)).toBe(expected);
});
