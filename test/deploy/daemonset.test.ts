import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryLimits } from '../bench/measured.ts';
import { settings } from '../../src/agent/config/settings.ts';
import { parseListenAddress } from '../../src/base/platform/address.ts';
import { type DaemonSet, daemonSetOf, readManifests, root } from './manifests.ts';

const daemonSet = daemonSetOf(readManifests('deploy/base/daemonset.yaml'));
const { spec } = daemonSet;
const pod = spec.template.spec;
const [agent] = pod.containers;

test('it selects its own Pods', () => {
  expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  expect(pod.containers).toHaveLength(1);
});

test('a rollout replaces a tenth of the nodes at a time, and stops if agents do not stay up', () => {
  expect(spec.updateStrategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } });
  // An agent that can read nothing exits after ten seconds (src/agent/run.ts).
  expect(spec.minReadySeconds).toBeGreaterThan(10);
});

test('it runs on every Linux node, whatever its taints', () => {
  expect(pod).toMatchObject({
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    priorityClassName: 'kube-netfilter-tailer',
  });
});

test('it has the account that may write Events, and enough time at the end to write them', () => {
  expect(pod).toMatchObject({
    serviceAccountName: 'kube-netfilter-tailer',
    automountServiceAccountToken: true,
    terminationGracePeriodSeconds: 30,
  });
});

test('it runs as root without capabilities, and writes only to its state folder', () => {
  expect(pod.securityContext).toEqual({ runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } });
  expect(agent?.securityContext).toEqual({
    privileged: false,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(agent?.volumeMounts?.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath)).toEqual([
    settings.stateDir.default,
  ]);
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) expect(pod).not.toHaveProperty(field);
});

test('its folders have the same paths as on the host', () => {
  expect(pod.volumes).toEqual([
    { name: 'var-log', hostPath: { path: '/var/log', type: 'Directory' } },
    { name: 'state', hostPath: { path: settings.stateDir.default, type: 'DirectoryOrCreate' } },
  ]);
  for (const { name, mountPath } of agent?.volumeMounts ?? [])
    expect(pod.volumes?.find((volume) => volume.name === name)?.hostPath?.path).toBe(mountPath);
  expect(settings.podLogs.default).toMatch(/^\/var\/log\//);
});

test('its probes use the paths and the port that the program serves', () => {
  const [, port] = settings.metricsAddress.default.split(':');
  const health = agent?.env?.find(({ name }) => name === settings.healthAddress.env)?.value;
  expect(agent?.ports).toMatchObject([
    { name: 'metrics', containerPort: Number(port) },
    { name: 'health', containerPort: Number(parseListenAddress(health ?? '')?.port) },
  ]);
  expect(agent?.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'health' });
  expect(agent?.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'health' });
  expect(agent?.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'health' });
});

test('the first probe comes after the agent has begun to listen, which takes up to four seconds', () => {
  expect(agent?.startupProbe.initialDelaySeconds).toBeGreaterThanOrEqual(5);
});

test('only the node reaches the health port, and only labelled namespaces reach the metrics port', () => {
  const [policy] = readManifests('deploy/base/network-policy.yaml') as unknown as [{ spec: { ingress: unknown } }];
  const from = [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }];
  expect(policy.spec.ingress).toEqual([{ ports: [{ port: 'metrics', protocol: 'TCP' }], from }]);
});

test('on the network of the node, only the node itself reaches its health', () => {
  const [patch] = readManifests('deploy/components/host-network/host-network.yaml') as unknown as [DaemonSet];
  const [patched] = patch.spec.template.spec.containers;
  const health = parseListenAddress(patched?.env?.find(({ name }) => name === 'HEALTH_ADDRESS')?.value ?? '');
  expect(health?.host).toBe('127.0.0.1');
  expect(patched?.ports).toContainEqual({ name: 'health', containerPort: health?.port, protocol: 'TCP' });
  for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
    expect(patched?.[kind].httpGet).toEqual({ host: '127.0.0.1' });
});

test('it knows the name of its Node', () => {
  expect(agent?.env).toContainEqual({
    name: settings.node.env,
    valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } },
  });
});

test('the DaemonSet requests the resources of an idle agent, is limited to those of a storm, and has no CPU limit', () => {
  const { requests, limits } = agent?.resources ?? {};
  const { pods, storm } = memoryLimits;
  expect(mebibytes(requests?.['memory'])).toBeGreaterThanOrEqual(pods.limit * 1.2);
  expect(mebibytes(requests?.['memory'])).toBeLessThan(pods.limit * 1.8);
  expect(mebibytes(limits?.['memory'])).toBeGreaterThanOrEqual(storm.limit * 1.2);
  expect(mebibytes(limits?.['memory'])).toBeLessThan(storm.limit * 1.8);
  expect(limits).not.toHaveProperty('cpu');
  expect(requests).toHaveProperty('cpu');
});

function mebibytes(text: string | undefined): number {
  const [, number] = /^(\d+)Mi$/.exec(text ?? '') ?? [];
  return Number(number);
}

test.each(Object.values(memoryLimits))('docs/performance.md has the measured limit: $what', ({ what, limit, aim }) => {
  const table = readFileSync(join(root, 'docs/performance.md'), 'utf8');
  const cells = table
    .split('\n')
    .find((line) => line.startsWith(`| ${what} |`))
    ?.split(' | ');
  expect([cells?.[1], cells?.at(-1)]).toEqual([`${limit} MiB`, `${aim} MiB |`]);
});
