import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseManifests } from '../../deploy/manifests.ts';
import { ruleGroups } from '../../monitoring/files.ts';
import { run } from '../network/command.ts';
import { helmOfFile } from './helm.ts';

/** Agents in two namespaces, whose DaemonSets have the same name: tests with the real promtool whose alerts fire. */

const helm = helmOfFile();

/**
 * All is well in `one`. In `two` an agent is silent, an agent's Pod is Pending on a node where `one` has an agent, an
 * agent restarts, and Pods were not made.
 */
const series: Readonly<Record<string, string>> = {
  ...up('one', 'node-a', '1x40'),
  ...up('one', 'node-b', '1x40'),
  ...up('two', 'node-a', '1x5 0x35'),
  ...up('two', 'node-c', '1x40'),
  ...pod('one', 'node-a', '0x40'),
  ...pod('one', 'node-b', '0x40'),
  ...pod('two', 'node-a', '0x40'),
  ...pod('two', 'node-b', '0x40'),
  ...pod('two', 'node-c', '0+1x40'),
  ...daemonSet('one', '2x40'),
  ...daemonSet('two', '5x40'),
};
const alertsOfTwo = [
  { labels: '{alertname="KubeNetfilterTailerDown", namespace="two", node="node-a"}', value: 1 },
  { labels: '{alertname="KubeNetfilterTailerDown", namespace="two", node="node-b"}', value: 1 },
  { labels: '{alertname="KubeNetfilterTailerPodsMissing", namespace="two"}', value: 1 },
  { labels: '{alertname="KubeNetfilterTailerRestarting", namespace="two", node="node-c"}', value: 1 },
];

test('the rules of deploy/monitoring distinguish agents of two namespaces', async () => {
  await promtoolAgrees(ruleGroups(), alertsOfTwo);
});

test('the rules of a release name its own agents', async () => {
  await promtoolAgrees(await rulesIn('two'), alertsOfTwo);
});

test("alerts of one release do not fire for the other's agents", async () => {
  await promtoolAgrees(await rulesIn('one'), []);
});

async function rulesIn(namespace: string): Promise<object> {
  const values = { podMonitor: { enabled: true }, prometheusRule: { enabled: true } };
  const manifests = parseManifests(await helm.template(values, { namespace }));
  const { spec } = manifests.find(({ kind }) => kind === 'PrometheusRule') as unknown as { spec: object };
  return spec;
}

/** promtool ends with another status, and says what differs, if other alerts fire after half an hour. */
async function promtoolAgrees(rules: object, alerts: readonly object[]): Promise<void> {
  const folder = await mkdtemp(join(helm.folder, 'rules-'));
  await writeFile(join(folder, 'rules.yaml'), JSON.stringify(rules));
  const expr = 'count by (alertname, namespace, node) (ALERTS{alertstate="firing"})';
  const one = {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr, eval_time: '35m', exp_samples: alerts }],
  };
  const path = join(folder, 'tests.yaml');
  await writeFile(path, JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: [one] }));
  const { stdout } = await run('promtool', ['test', 'rules', path]);
  expect(stdout).toContain('SUCCESS');
}

/** Makes Prometheus' series of an agent that the operator configures it to scrape, and that knows of Pods. */
function up(namespace: string, node: string, values: string): Readonly<Record<string, string>> {
  const labels = `job="${namespace}/kube-netfilter-tailer", namespace="${namespace}", node="${node}"`;
  return {
    [`up{${labels}}`]: values,
    [`kube_netfilter_tailer_watch_last_heard_timestamp_seconds{${labels}, resource="pods"}`]: '0+60x40',
  };
}

/** Makes kube-state-metrics' series of an agent's Pod. */
function pod(namespace: string, node: string, restarts: string): Readonly<Record<string, string>> {
  const labels = `namespace="${namespace}", pod="agent-${node}"`;
  const creator = 'created_by_kind="DaemonSet", created_by_name="kube-netfilter-tailer"';
  return {
    [`kube_pod_info{${labels}, ${creator}, node="${node}"}`]: '1x40',
    [`kube_pod_container_status_restarts_total{${labels}, container="agent"}`]: restarts,
  };
}

/** Two of its Pods exist. */
function daemonSet(namespace: string, desired: string): Readonly<Record<string, string>> {
  const labels = `daemonset="kube-netfilter-tailer", namespace="${namespace}"`;
  return {
    [`kube_daemonset_status_desired_number_scheduled{${labels}}`]: desired,
    [`kube_daemonset_status_current_number_scheduled{${labels}}`]: '2x40',
  };
}
