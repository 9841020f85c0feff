import { expect, test } from 'vitest';
import { allMetrics } from '../../src/agent/telemetry/metrics.ts';
import { alerts, dashboard, queries } from './files.ts';
import { readQuery } from './promql.ts';

/** Labels that a scrape or the PodMonitor adds. */
const added = ['job', 'cluster', 'node', 'namespace'];
/** Metrics that are not specific to this program; docs/monitoring.md says who has them. */
const foreign: Readonly<Record<string, readonly string[]>> = {
  up: [],
  kube_pod_info: ['created_by_kind', 'created_by_name', 'namespace', 'pod'],
  kube_pod_container_status_restarts_total: ['container', 'namespace', 'pod'],
  kube_daemonset_status_desired_number_scheduled: ['daemonset', 'namespace'],
  kube_daemonset_status_current_number_scheduled: ['daemonset', 'namespace'],
  kube_daemonset_status_number_ready: ['daemonset', 'namespace'],
};
const own = Object.fromEntries(
  allMetrics.flatMap(({ name, type, labels }) =>
    type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [name + end, [...Object.keys(labels), 'le']])
      : [[name, Object.keys(labels)]],
  ),
) as Record<string, readonly string[]>;
const known: Readonly<Record<string, readonly string[]>> = { ...foreign, ...own };

const all = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...queries.map((expr) => ['the dashboard', expr] as const),
];

test.each(all)('%s queries existing metrics and labels in PromQL: %s', (_, expr) => {
  const { errors, selectors, grouping } = readQuery(expr);
  expect(errors).toEqual([]);
  expect(selectors).not.toEqual([]);
  for (const { metric, labels } of selectors) {
    expect(Object.keys(known)).toContain(metric);
    expect([...(known[metric] ?? []), ...added]).toEqual(expect.arrayContaining([...labels]));
  }
  const possible = [...added, ...selectors.flatMap(({ metric }) => known[metric] ?? [])];
  expect(possible).toEqual(expect.arrayContaining([...grouping]));
});

const valuesOf = Object.fromEntries(
  allMetrics.map(({ name, labels }) => [name, Object.entries(labels).filter(([, values]) => Array.isArray(values))]),
);
const compared = all.flatMap(([, expr]) =>
  readQuery(expr).selectors.flatMap(({ metric, values }) =>
    (valuesOf[metric] ?? []).flatMap(([label, possible]) =>
      (values[label] ?? []).map((value) => ({ metric, label, value, possible })),
    ),
  ),
);

test('queried states, results and verdicts exist', () => {
  expect(new Set(compared.map(({ label }) => label))).toEqual(new Set(['state', 'result', 'verdict']));
  expect(compared.filter(({ value, possible }) => !possible.includes(value))).toEqual([]);
});

test('the variables of the dashboard query existing labels', () => {
  const variables = dashboard.templating.list.filter(({ type }) => type === 'query');
  expect(variables.map(({ name }) => name)).toEqual(['cluster', 'node', 'namespace', 'job']);
  for (const { definition = '' } of variables) {
    const [, metric = '', label = ''] = /^label_values\((\w+)(?:\{.*\})?, (\w+)\)$/.exec(definition) ?? [];
    expect(Object.keys(known)).toContain(metric);
    expect(added).toContain(label);
  }
});

test.each(['sum(rate(up[5m])', 'up{job=~}', 'rate up'])('the parser refuses %s', (expr) => {
  expect(readQuery(expr).errors).not.toEqual([]);
});
