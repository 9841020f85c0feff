/**
 * deploy/try-on-kind.sh on the two nodes: the API server, kubelets, image, manifests, Pods, packets and the kernel's
 * log are real. kind and docker are fakes, because kind's node image is not available here. So is Calico: the test logs
 * and drops what Calico would.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { root } from '../../deploy/manifests.ts';
import { definitionOf } from '../../deploy/custom-resources.ts';
import { createOwnFolder } from '../own-folder.ts';
import { kubectl, removeAgents } from './agents.ts';
import { connectCluster } from './cluster.ts';
import { PAUSE_IMAGE } from './node-configuration.ts';
import { createPrograms } from './programs.ts';

const cluster = connectCluster(inject('cluster'));
const folder = createOwnFolder('kind');
const path = (name: string): string => join(folder, name);
const script = join(root, 'deploy/try-on-kind.sh');
const context = 'kind-kube-netfilter-tailer-try';
const definitions = [['FelixConfiguration', 'Cluster'] as const, ['GlobalNetworkPolicy', 'Cluster'] as const].map(
  ([kind, scope]) => definitionOf({ group: 'crd.projectcalico.org', version: 'v1', kind, scope }),
);
let env: NodeJS.ProcessEnv;

/** Knows the calls of the script; any other call ends with status 64. A cluster exists once it was created. */
const kind = (programs: string): string => `#!/bin/bash
echo "kind $*" >> ${path('calls')}
case "$*" in
  'get clusters') cat ${path('clusters')} ;;
  'create cluster --name kube-netfilter-tailer-try --config -')
    cat > ${path('kind.yaml')}
    echo kube-netfilter-tailer-try > ${path('clusters')}
    ${programs}/kubectl config rename-context "$(${programs}/kubectl config current-context)" ${context} ;;
  'load docker-image --name kube-netfilter-tailer-try '*) ${programs}/docker push "$5" ;;
  'delete cluster --name kube-netfilter-tailer-try') : > ${path('clusters')} ;;
  *) exit 64 ;;
esac
`;

/** Answers what concerns kind's nodes and the machine; the docker of programs.ts answers the rest. */
const docker = (programs: string): string => `#!/bin/bash
echo "docker $*" >> ${path('calls')}
case "$*" in
  'inspect --format {{.Image}} kube-netfilter-tailer-try-control-plane') echo node-image ;;
  'run --rm --privileged --network host --entrypoint sysctl node-image -qw net.netfilter.nf_log_all_netns='[01]) ;;
  *) exec ${programs}/docker "$@" ;;
esac
`;

beforeAll(async () => {
  const programs = createPrograms(folder, cluster);
  const first = path('first');
  mkdirSync(first);
  writeFileSync(join(first, 'kind'), kind(programs), { mode: 0o755 });
  writeFileSync(join(first, 'docker'), docker(programs), { mode: 0o755 });
  copyFileSync(cluster.controlPlane.adminKubeconfig, path('kubeconfig'));
  writeFileSync(path('clusters'), '');
  writeFileSync(path('calico.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: calico() }));
  await cluster.controlPlane.apply(...definitions);
  for (const { metadata } of definitions)
    await kubectl(cluster, 'wait', '--for=condition=Established', `crd/${metadata.name}`, '--timeout=60s');
  env = {
    ...process.env,
    PATH: [first, programs, process.env['PATH']].join(delimiter),
    KUBECONFIG: path('kubeconfig'),
    CALICO_MANIFEST: path('calico.json'),
  };
});

afterAll(async () => {
  for (const node of cluster.nodes) await node.run(['iptables', '-w', '-F', 'FORWARD']);
  await kubectl(cluster, 'delete', 'namespace', 'first-drop', '--ignore-not-found', '--wait=false');
  await kubectl(cluster, '-n', 'kube-system', 'delete', 'daemonset', 'calico-node', '--ignore-not-found');
  await kubectl(cluster, 'delete', ...definitions.map(({ metadata }) => `crd/${metadata.name}`), '--ignore-not-found');
  await removeAgents(cluster);
  rmSync(folder, { recursive: true, force: true });
});

/** The node program that the script waits for, which does nothing here, and the object that it makes. */
function calico(): readonly object[] {
  const labels = { 'k8s-app': 'calico-node' };
  const containers = [{ name: 'calico-node', image: PAUSE_IMAGE }];
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'calico-node', namespace: 'kube-system' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    },
    { apiVersion: 'crd.projectcalico.org/v1', kind: 'FelixConfiguration', metadata: { name: 'default' }, spec: {} },
  ];
}

/** Felix's part: as soon as the server has an address, its node logs and drops packets for it. */
async function denyServer(): Promise<void> {
  const columns = '-o=jsonpath={.status.podIP} {.spec.nodeName}';
  await kubectl(cluster, 'wait', '--for=create', 'namespace/first-drop', '--timeout=240s');
  await kubectl(cluster, '-n', 'first-drop', 'wait', '--for=create', 'pod/server', '--timeout=60s');
  await kubectl(cluster, '-n', 'first-drop', 'wait', '--for=condition=Ready', 'pod/server', '--timeout=120s');
  const [address = '', name] = (await kubectl(cluster, '-n', 'first-drop', 'get', 'pod', 'server', columns)).split(' ');
  for (const node of cluster.nodes.filter((each) => each.name === name)) {
    await node.run(['iptables', '-w', '-I', 'FORWARD', '-d', address, '-j', 'DROP']);
    const log = ['-j', 'LOG', '--log-prefix', 'calico-drop gnp deny-in: '];
    await node.run(['iptables', '-w', '-I', 'FORWARD', '-d', address, ...log]);
  }
}

test('the Event of a real drop is shown', { timeout: 600_000 }, async () => {
  const [{ stdout }] = await Promise.all([promisify(execFile)(script, [], { env }), denyServer()]);
  expect(stdout).toMatch(
    /Warning +PacketDrop .* Packet dropped when receiving traffic from .*first-drop\/client .*80\/TCP/,
  );
  expect(stdout).toContain('deploy/try-on-kind.sh --delete');
  expect(readFileSync(path('kind.yaml'), 'utf8')).toContain('disableDefaultCNI: true');
  const calls = readFileSync(path('calls'), 'utf8');
  expect(calls).toContain('nf_log_all_netns=1');
  const felix = await kubectl(cluster, 'get', 'felixconfigurations.crd.projectcalico.org', 'default', '-o', 'json');
  expect(JSON.parse(felix)).toMatchObject({ spec: { logPrefix: 'calico-drop %k %p' } });
});

test("--delete restores the machine's setting before it deletes the cluster", async () => {
  writeFileSync(path('calls'), '');
  await promisify(execFile)(script, ['--delete'], { env });
  const calls = readFileSync(path('calls'), 'utf8');
  expect(calls.indexOf('nf_log_all_netns=0')).toBeGreaterThan(-1);
  expect(calls.indexOf('kind delete')).toBeGreaterThan(calls.indexOf('nf_log_all_netns=0'));
  await expect(promisify(execFile)(script, ['--delete'], { env })).rejects.toMatchObject({
    code: 1,
    stderr: 'try-on-kind.sh: cluster kube-netfilter-tailer-try does not exist\n',
  });
});
