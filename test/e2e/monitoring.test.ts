import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { alerts, ruleGroups, textOf } from '../monitoring/files.ts';
import { ensurePromtool } from '../monitoring/promtool.ts';
import { connect } from './control-plane/connection.ts';

/** What deploy/monitoring/ has, with the real promtool and kubectl. */

const run = promisify(execFile);
let promtool: string;
let folder: string;

beforeAll(async () => {
  promtool = await ensurePromtool();
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-rules-'));
  // JSON, which is YAML too.
  await writeFile(join(folder, 'rules.yaml'), JSON.stringify(ruleGroups()));
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test('promtool takes the rules', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', join(folder, 'rules.yaml')]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

test('alerts fire when they should, and not when an agent starts', async () => {
  const path = join(folder, 'tests.yaml');
  await writeFile(path, `rule_files: [rules.yaml]\n${textOf('test/monitoring/rules.test.yaml')}`);
  // It ends with another status and prints what differs when one fails.
  const { stdout } = await run(promtool, ['test', 'rules', path]);
  expect(stdout).toContain('SUCCESS');
});

test('kubectl puts rules and dashboard together', async () => {
  const { code, stdout, stderr } = await connect(inject('controlPlane')).kubectl(['kustomize', 'deploy/monitoring']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.match(/^kind: .*/gm)?.toSorted()).toEqual(['kind: ConfigMap', 'kind: PrometheusRule']);
  expect(stdout.match(/^ +runbook_url: docs\/alerts\/\w+\.md$/gm)).toHaveLength(alerts.length);
  expect(stdout).toContain('grafana_dashboard: "1"');
});
