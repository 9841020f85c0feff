import { expect, test } from 'vitest';
import { spreadOf } from '../../src/series/spread.ts';
import { createSeriesTable } from '../../src/series/table.ts';
import { finding, incident, nine } from '../builders.ts';

const second = 1000;

test('drops on 5,000 nodes are spread over half a minute, an incident over more than a minute', () => {
  expect(spreadOf({ finding: finding() }, 5000)).toBe(30 * second);
  expect(spreadOf({ finding: incident() }, 5000)).toBe(75 * second);
});

test('on three nodes an Event is hardly later', () => {
  expect(spreadOf({ finding: incident() }, 3)).toBeLessThan(100);
});

test('a series is due so much later, the first time and each time after', () => {
  let spread = 0;
  const table = createSeriesTable({ spread: () => spread });
  spread = 7 * second;
  table.count(finding(), nine);
  expect(table.nextDue()).toBe(nine + 8 * second);
  const series = table.next(nine + 8 * second)?.series;
  if (series === undefined) throw new Error('nothing is due');
  const written = { ...series.published, count: 1, writes: 1, at: nine + 8 * second };
  table.published(series, written);
  spread = 20 * second;
  table.count(finding(), nine + 9 * second);
  expect(table.nextDue()).toBe(nine + 8 * second + 30 * second + 20 * second);
});
