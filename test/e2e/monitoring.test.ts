import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { alerts, root, ruleGroups, textOf } from '../monitoring/files.ts';
import { connect } from './control-plane/connection.ts';
import { run } from './network/command.ts';

/** Tests deploy/monitoring/ with the real promtool and kubectl. */

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-rules-'));
  // JSON, which is YAML too.
  await writeFile(join(folder, 'rules.yaml'), JSON.stringify(ruleGroups()));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('promtool accepts the rules', async () => {
  const { stdout } = await run('promtool', ['check', 'rules', join(folder, 'rules.yaml')]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

test('alerts fire when they should, and not at the start of an agent', async () => {
  const path = join(folder, 'tests.yaml');
  await writeFile(path, `rule_files: [rules.yaml]\n${textOf('test/monitoring/rules.test.yaml')}`);
  // It ends with another status, and prints what differs, if one of them fails.
  const { stdout } = await run('promtool', ['test', 'rules', path]);
  expect(stdout).toContain('SUCCESS');
});

test('kubectl builds rules and dashboard together', async () => {
  const { code, stdout, stderr } = await connect(inject('controlPlane')).kubectl(['kustomize', 'deploy/monitoring']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.match(/^kind: .*/gm)?.toSorted()).toEqual(['kind: ConfigMap', 'kind: PrometheusRule']);
  expect(stdout.match(/^ +runbook_url: docs\/alerts\/\w+\.md$/gm)).toHaveLength(alerts.length);
  expect(stdout).toContain('grafana_dashboard: "1"');
});

test('one value sets the address of the pages, and an overlay adds the label by which an operator selects', async () => {
  const own = join(folder, 'kube-netfilter-tailer/deploy/monitoring');
  await cp(fileURLToPath(new URL('deploy/monitoring', root)), own, { recursive: true });
  const kustomization = textOf('deploy/monitoring/kustomization.yaml');
  const base = 'https://wiki.example.org/kube-netfilter-tailer/';
  await writeFile(join(own, 'kustomization.yaml'), kustomization.replace('- base=\n', `- base=${base}\n`));
  const [, overlay = ''] =
    /^ *```yaml\n( +# kustomization\.yaml\n.*?)^ *```$/ms.exec(textOf('docs/monitoring.md')) ?? [];
  await writeFile(join(folder, 'kustomization.yaml'), overlay.replaceAll(/^ {2}/gm, ''));
  const { code, stdout, stderr } = await connect(inject('controlPlane')).kubectl(['kustomize', folder]);
  expect([code, stderr]).toEqual([0, '']);
  const urls = [...stdout.matchAll(/^ +runbook_url: (.*)$/gm)].map(([, url = '']) => url);
  expect(urls).toEqual(alerts.map(({ alert }) => `${base}docs/alerts/${alert}.md`));
  expect(stdout.match(/^    release: kube-prometheus-stack$/gm)).toHaveLength(2);
});
