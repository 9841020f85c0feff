import type { Results } from './measurements.ts';
import type { Scenario } from './simulation.ts';

/** The most requests that the agents of a cluster may make together in a second. */
export const writeLimit = 500;

export interface Played {
  scenario: Scenario;
  results: Results;
}

type Column = readonly [heading: string, value: (results: Results) => string];

const columns: readonly Column[] = [
  ['writes/s: mean, max', ({ writes }) => `${mean(writes).toFixed(2)}, **${max(writes).toFixed(0)}**`],
  ['reads/s: mean, max', ({ reads }) => `${mean(reads).toFixed(1)}, ${max(reads).toFixed(0)}`],
  ['CPU in cores: mean, max', ({ cpu }) => `${(mean(cpu) / 1000).toFixed(3)}, ${(max(cpu) / 1000).toFixed(1)}`],
  ['Events in etcd at most', ({ events, bytes }) => `${count(max(events))} (${(max(bytes) / 1e6).toFixed(0)} MB)`],
  ['writes of the worst node', ({ nodes }) => max(nodes).toFixed(0)],
  ['affected Pods, with an Event', ({ affected, waits }) => `${count(affected)}, ${count(waits.length)}`],
  ['Event after s: p50, p99, max', ({ waits }) => [0.5, 0.99, 1].map((part) => quantile(waits, part)).join(', ')],
  ['429', ({ throttled }) => count(throttled)],
];

/** A table in Markdown, one row for each scenario. */
export function table(played: readonly Played[]): string {
  const rows = [
    ['scenario', ...columns.map(([heading]) => heading)],
    ['---', ...columns.map(() => '---:')],
    ...played.map(({ scenario, results }) => [scenario.name, ...columns.map(([, value]) => value(results))]),
  ];
  return rows.map((row) => `| ${row.join(' | ')} |\n`).join('');
}

export function max(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

export function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A quantile in seconds, of sorted milliseconds. */
export function quantile(sorted: Float64Array, part: number): string {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return value === undefined ? '–' : (value / 1000).toFixed(value < 10_000 ? 1 : 0);
}

function count(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 0 });
}
