import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
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
import { connect } from './control-plane/connection.ts';
import { createAll, createDeploying, type Deploying, namespaceWith, podOf, succeed } from './deploying.ts';
import { createOwnFolder } from './own-folder.ts';

const connection = connect(inject('controlPlane'));
const namespace = 'kube-netfilter-tailer';
const components = foldersOf('components').map((name) => `components/${name}`);

/** Folder of deploy/, and components that are added to it. */
const ways: [string, readonly string[]][] = [
  ['base', []],
  ...foldersOf('overlays').map((name): [string, string[]] => [`overlays/${name}`, []]),
  // helm/rendering.test.ts renders each of them alone, and cluster/overlays.test.ts runs most of them.
  ['overlays/journal', components],
];

let folder: string;
let deploying: Deploying;

beforeAll(async () => {
  folder = createOwnFolder('deploy');
  deploying = createDeploying(connection, folder);
  await createAll(connection, deploying, definitions);
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(ways)('%s with %j', (base, added) => {
  let rendered: string;
  // The policy in force would refuse the agents of other test files, whose tokens belong to no Pod.
  const how = added.includes('components/admission-policy') ? ['--dry-run=server'] : [];

  beforeAll(async () => {
    rendered = await deploying.render(base, added);
  });

  test('the API server takes every field of it, and admits its Pods', async () => {
    expect(await deploying.apply(rendered, how)).toMatchObject({ code: 0, stderr: '' });
    expect(await deploying.admit(podOf(rendered), namespace)).toMatchObject({ code: 0, stderr: '' });
  });

  test('its rights are those of deploy/base/rbac.yaml and to network policies, or with no-policies not to those', () => {
    expect(clusterRole(parseManifests(rendered))).toEqual(clusterRole(readManifests('deploy/base/rbac.yaml')));
    const roles = parseManifests(rendered).filter(({ metadata }) => metadata.name === `${namespace}-policies`);
    const off = podOf(rendered).containers[0]?.env?.find(({ name }) => name === 'POLICIES')?.value;
    const isOff = added.includes('components/no-policies');
    expect([roles.map(({ kind }) => kind), off]).toEqual(
      isOff ? [[], 'off'] : [['ClusterRole', 'ClusterRoleBinding'], undefined],
    );
  });
});

test.each([{ namePrefix: 'p-' }, { nameSuffix: '-s' }, { namespace: 'mon' }])(
  'with %j, the directory has one name, by which it finds its ConfigMap',
  async (change) => {
    const own = await mkdtemp(join(folder, 'renamed-'));
    const path = (name: string): string => relative(own, join(root, 'deploy', name));
    const added = [path('components/shared-directory')];
    const kustomization = { ...change, resources: [path('overlays/journal')], components: added };
    await writeFile(join(own, 'kustomization.yaml'), JSON.stringify(kustomization));
    const manifests = parseManifests(await succeed(connection.kubectl(['kustomize', own])));
    const named = (kind: string): Manifest[] =>
      manifests.filter((each) => each.kind === kind && each.metadata.name.includes('directory'));
    const [deployment] = named('Deployment') as unknown as [{ spec: { template: { spec: PodSpec } } }];
    const account = deployment.spec.template.spec['serviceAccountName'];
    const [role] = named('Role') as unknown as [{ rules: { resourceNames: string[] }[] }];
    expect(named('ConfigMap').map(({ metadata }) => metadata.name)).toEqual([account]);
    expect(role.rules[0]?.resourceNames).toEqual([account]);
    expect(account).toBe(daemonSetOf(manifests).metadata.name.replace('tailer', 'tailer-directory'));
  },
);

test('an unknown field is refused', async () => {
  const rendered = (await deploying.render('overlays/journal')).replace('minReadySeconds:', 'minReadySecond:');
  const { code, stderr } = await deploying.apply(rendered);
  expect(code).toBe(1);
  expect(stderr).toContain('minReadySecond');
});

describe('Pod Security', () => {
  beforeAll(async () => {
    await createAll(connection, deploying, [
      namespaceWith('deploy-baseline', { 'pod-security.kubernetes.io/enforce': 'baseline' }),
      namespaceWith('deploy-restricted', { 'pod-security.kubernetes.io/warn': 'restricted' }),
    ]);
  });

  test('only folders of the host keep it from baseline', async () => {
    const pod = podOf(await deploying.render('overlays/journal'));
    const { code, stderr } = await deploying.admit(pod, 'deploy-baseline');
    expect(code).toBe(1);
    expect(stderr).toMatch(/violates PodSecurity "baseline:latest": hostPath volumes \([^)]*\)\n?$/);
    expect(await deploying.admit(withoutHost(pod), 'deploy-baseline')).toMatchObject({ code: 0 });
  });

  test('only root keeps it from restricted, apart from these folders', async () => {
    const { code, stderr } = await deploying.admit(
      withoutHost(podOf(await deploying.render('overlays/journal'))),
      'deploy-restricted',
    );
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
    const { code, stderr } = await deploying.admit(
      withoutHost(podOf(await deploying.render(base, added))),
      'deploy-baseline',
    );
    expect(code).toBe(1);
    expect(stderr).toContain(what);
  });
});

/** Returns the ClusterRole among the manifests. */
function clusterRole(manifests: readonly Manifest[]): unknown {
  const { rules } = manifests.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === namespace,
  ) as Manifest & { rules: unknown };
  return rules;
}

function withoutHost(spec: PodSpec): PodSpec {
  const containers = spec.containers.map((container) => ({ ...container, volumeMounts: [] }));
  return { ...spec, containers, volumes: [] };
}
