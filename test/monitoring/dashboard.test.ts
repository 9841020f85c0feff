import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { highShare } from '../../src/agent/node-checks.ts';
import { causes } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { metricTable, prefix } from '../../src/agent/telemetry/metric-table.ts';
import { dashboard, queries, root, textOf } from './files.ts';
import { readQuery } from './promql.ts';

const { panels, templating } = dashboard;
const chosen = '${datasource}';

const rows = panels.filter(({ type }) => type === 'row');

test('the first row has the owners of lost packets; the other rows are collapsed', () => {
  expect(rows.map(({ title, collapsed }) => [title, collapsed])).toEqual([
    ['Whose packets are lost', false],
    ...rows.slice(1).map(({ title }) => [title, true]),
  ]);
  expect(panels[0]).toBe(rows[0]);
  expect(panels.slice(1, 3).map(({ title }) => title)).toEqual([
    'Workloads with the most lost packets',
    'Lost packets in the chosen time, by workload',
  ]);
});

test('panels of a row are side by side and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const open = panels.slice(0, panels.indexOf(rows[1] as (typeof panels)[number]));
  for (const group of [open, ...rows.map(({ panels: own = [] }) => own)]) {
    const cells = group.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}/${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  }
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
});

test('metrics that all programs have are queried with the labels of the agents', () => {
  // With `.*` for "All", `up{job=~"$job"}` would match every target of that Prometheus.
  expect(templating.list.find(({ name }) => name === 'job')).not.toHaveProperty('allValue');
  const shared = queries.flatMap((expr) => readQuery(expr).selectors).filter(({ metric }) => isShared.test(metric));
  expect(shared.length).toBeGreaterThan(5);
  expect(shared.filter(({ labels }) => !labels.includes('job') && !labels.includes('daemonset'))).toEqual([]);
});

const isShared = /^(?:up|process_|nodejs_|kube_(?!netfilter))/;
const asking = panels.filter(({ type }) => type !== 'row' && type !== 'text');

test('some panels have queries', () => {
  expect(asking.length).toBeGreaterThan(20);
  expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
});

test.each(asking)('$title queries the chosen data source and clusters', ({ datasource, targets = [] }) => {
  expect(datasource?.uid).toBe(chosen);
  expect(targets.length).toBeGreaterThan(0);
  for (const target of targets) {
    expect(target.datasource.uid).toBe(chosen);
    expect(target.expr).toContain('cluster=~"$cluster"');
  }
});

test('every cause has a link to its page', () => {
  const content = panels.find(({ title }) => title === 'Causes')?.options?.content ?? '';
  const links = [...content.matchAll(/: \$\{docs\}\/(docs\/causes\/(KN\d+)-\S+)$/gm)];
  expect(links.map(([, , code = '']) => code).toSorted()).toEqual(causes.map(({ code }) => code).toSorted());
  expect(links.map(([, path = '']) => path).filter(isMissing)).toEqual([]);
});

test('before "Documentation at" is set, no link is broken: an address becomes a link only once it is complete', () => {
  expect(textOf('deploy/monitoring/dashboard.json')).not.toMatch(/\]\(\$\{docs\}|"url": "\$\{docs\}/);
});

const drawn = asking.filter(({ type }) => type === 'timeseries');

test.each(drawn)('$title has one unit: either rates or numbers', ({ fieldConfig, targets = [] }) => {
  expect(new Set(targets.map(({ expr }) => /\b(?:rate|histogram_quantile)\(/.test(expr))).size).toBe(1);
  expect(JSON.stringify(fieldConfig)).not.toMatch(/"overrides":.*"unit"/);
});

test('links lead to existing documents', () => {
  const paths = [...textOf('deploy/monitoring/dashboard.json').matchAll(/\$\{docs\}\/(docs\/[\w/-]+\.md)/g)];
  expect(paths.map(([, path = '']) => path).filter(isMissing)).toEqual([]);
});

test('nearly all metrics are shown', () => {
  const shown = queries.join('\n');
  const missing = Object.values(metricTable).filter(({ name }) => !shown.includes(prefix + name));
  // These show how far things are, to a reader who looks for a fault of the program itself.
  const left = ['read_bytes_total', 'repeated_lines_total', 'forgotten_lines_total', 'watch_restarts_total'];
  const lookups = ['pod_lookup_ways_total', 'directory_answers_total'];
  // Connections that policies deny are among the dropped packets; the others are not drops.
  const failures = ['connect_failures_total'];
  const audit = ['audit_attempts_total', 'audit_open_flows'];
  expect(missing.map(({ name }) => name).toSorted()).toEqual(
    [...left, ...lookups, ...failures, ...audit, 'state_saved_timestamp_seconds'].toSorted(),
  );
});

test('connection tracking tables are shown with the level at which an incident begins', () => {
  const panel = panels.find(({ title }) => title === 'Connection tracking tables');
  const { unit, thresholds, custom } = panel?.fieldConfig?.defaults ?? {};
  expect(unit).toBe('percentunit');
  expect(thresholds?.steps.map(({ value }) => value)).toEqual([null, highShare]);
  expect(custom?.thresholdsStyle).toEqual({ mode: 'line' });
});

function isMissing(path: string): boolean {
  return !existsSync(new URL(path, root));
}
