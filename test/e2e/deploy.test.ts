import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { definitions } from '../deploy/custom-resources.ts';
import {
  daemonSetOf,
  foldersOf,
  type Manifest,
  parseManifests,
  type PodSpec,
  readManifests,
  root,
} from '../deploy/manifests.ts';
import { type CommandResult, connect } from './control-plane/connection.ts';

const { kubectl, request } = connect(inject('controlPlane'));
const namespace = 'kube-netfilter-tailer';
const components = foldersOf('components').map((name) => `components/${name}`);

/** Folder of deploy/, and components that are added to it. */
const ways: [string, readonly string[]][] = [
  ['base', []],
  ...foldersOf('overlays').map((name): [string, string[]] => [`overlays/${name}`, []]),
  ...components.map((name): [string, string[]] => ['overlays/journal', [name]]),
  ['overlays/journal', components],
];

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-deploy-'));
  await create(definitions);
  const names = (definitions as Manifest[]).map(({ metadata }) => `crd/${metadata.name}`);
  await succeed(kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...names]));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(ways)('%s with %j', (base, added) => {
  let rendered: string;

  beforeAll(async () => {
    rendered = await render(base, added);
  });

  test('the API server takes every field of it', async () => {
    expect(await apply(rendered)).toMatchObject({ code: 0, stderr: '' });
    const { status, body } = await request('GET', `/apis/apps/v1/namespaces/${namespace}/daemonsets/${namespace}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ spec: { updateStrategy: { rollingUpdate: { maxUnavailable: '10%' } } } });
  });

  test('its Pods are admitted', async () => {
    await apply(rendered);
    expect(await admit(podOf(rendered), namespace)).toMatchObject({ code: 0, stderr: '' });
  });

  test('its rights are those of deploy/base/rbac.yaml', () => {
    expect(clusterRole(parseManifests(rendered))).toEqual(clusterRole(readManifests('deploy/base/rbac.yaml')));
  });
});

test('a field that nobody knows is refused', async () => {
  const rendered = (await render('overlays/journal', [])).replace('minReadySeconds:', 'minReadySecond:');
  const { code, stderr } = await apply(rendered);
  expect(code).toBe(1);
  expect(stderr).toContain('minReadySecond');
});

describe('Pod Security', () => {
  beforeAll(async () => {
    await create([
      namespaceWith('deploy-baseline', { 'pod-security.kubernetes.io/enforce': 'baseline' }),
      namespaceWith('deploy-restricted', { 'pod-security.kubernetes.io/warn': 'restricted' }),
    ]);
  });

  test('only folders of the host keep it from baseline', async () => {
    const pod = podOf(await render('overlays/journal', []));
    const { code, stderr } = await admit(pod, 'deploy-baseline');
    expect(code).toBe(1);
    expect(stderr).toMatch(/violates PodSecurity "baseline:latest": hostPath volumes \([^)]*\)\n?$/);
    expect(await admit(withoutHost(pod), 'deploy-baseline')).toMatchObject({ code: 0 });
  });

  test('and only root beside them from restricted', async () => {
    const { code, stderr } = await admit(withoutHost(podOf(await render('overlays/journal', []))), 'deploy-restricted');
    expect(code).toBe(0);
    expect(stderr).toContain('runAsNonRoot != true');
    expect(stderr).toContain('runAsUser=0');
    expect(stderr).not.toMatch(/capabilities|allowPrivilegeEscalation|seccompProfile|volume/);
  });

  test.each([
    ['overlays/kmsg', [], 'privileged'],
    ['overlays/journal', ['components/host-network'], 'host namespaces (hostNetwork=true)'],
    ['overlays/journal', ['components/conntrack-owners'], 'SYS_PTRACE'],
  ])('%s with %j asks for more', async (base, added, what) => {
    const { code, stderr } = await admit(withoutHost(podOf(await render(base, added))), 'deploy-baseline');
    expect(code).toBe(1);
    expect(stderr).toContain(what);
  });
});

/** As `kubectl kustomize` prints it; with components, as somebody's own overlay would have them. */
async function render(base: string, added: readonly string[]): Promise<string> {
  const own = await mkdtemp(join(folder, 'overlay-'));
  const path = (name: string): string => relative(own, join(root, 'deploy', name));
  const kustomization = { resources: [path(base)], components: added.map(path) };
  await writeFile(join(own, 'kustomization.yaml'), JSON.stringify(kustomization));
  return succeed(kubectl(['kustomize', own]));
}

function namespaceWith(name: string, labels: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** What it grants. */
function clusterRole(manifests: readonly Manifest[]): unknown {
  const { rules } = manifests.find(({ kind }) => kind === 'ClusterRole') as Manifest & { rules: unknown };
  return rules;
}

function create(items: readonly object[]): Promise<string> {
  return succeed(apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items })));
}

async function succeed(command: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await command;
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

function apply(input: string): Promise<CommandResult> {
  // Other tests install the same account.
  const how = ['--server-side', '--validate=strict', '--force-conflicts'];
  return kubectl(['apply', ...how, '-f', '-'], { input });
}

function podOf(rendered: string): PodSpec {
  return daemonSetOf(parseManifests(rendered)).spec.template.spec;
}

function withoutHost(spec: PodSpec): PodSpec {
  const containers = spec.containers.map((container) => ({ ...container, volumeMounts: [] }));
  return { ...spec, containers, volumes: [] };
}

/** Lets the API server look at a Pod as if it were created. */
function admit(spec: PodSpec, place: string): Promise<CommandResult> {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'admitted', namespace: place }, spec };
  return kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input: JSON.stringify(pod) });
}
