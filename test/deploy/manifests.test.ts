import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { version } from '../../src/agent/config/config.ts';
import { settings } from '../../src/agent/config/settings.ts';
import { policiesFile, rightsFile } from '../../src/agent/kubernetes/rights.ts';
import {
  type Container,
  type DaemonSet,
  foldersOf,
  manifestFiles,
  readKustomization,
  readManifests,
  root,
} from './manifests.ts';

const files = manifestFiles();
const kustomizations = files.filter((file) => file.endsWith('/kustomization.yaml'));
const daemonSets = files.flatMap((file) =>
  readManifests(file)
    .filter(({ kind }) => kind === 'DaemonSet')
    .map((manifest) => ({ file, manifest: manifest as DaemonSet })),
);

test('the overlays and components are those of docs/deploy.md and docs/components.md', () => {
  const document = ['deploy', 'components'].map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8')).join('');
  const named = [...document.matchAll(/^\| `(overlays|components)\/([a-z0-9-]+)`/gm)].map(([, ...names]) => names);
  for (const kind of ['overlays', 'components'] as const)
    expect(named.filter(([of]) => of === kind).map(([, name]) => name)).toEqual(
      expect.arrayContaining(foldersOf(kind)),
    );
  expect(named).toHaveLength(foldersOf('overlays').length + foldersOf('components').length);
});

test("a ConfigMap with a key of the token's name does not replace the token, because the kubelet uses the last source of a name", () => {
  const last = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const sources = [...text.matchAll(/^ *- (serviceAccountToken|configMap):$/gm)].map(([, kind]) => kind);
    return sources.includes('serviceAccountToken') ? [sources.at(-1)] : [];
  });
  expect(last).toEqual(['serviceAccountToken']);
});

describe.each(kustomizations)('%s', (file) => {
  const folder = join(root, dirname(file));
  const kustomization = readKustomization(file);

  test('uses every file next to it', () => {
    const { resources = [], patches = [] } = kustomization;
    const used = new Set([...resources, ...patches.map(({ path }) => path ?? '')].map((name) => join(folder, name)));
    const beside = files.filter((each) => dirname(each) === dirname(file) && each !== file);
    expect(beside.filter((each) => !used.has(join(root, each)))).toEqual([]);
  });

  test('has images of this version', () => {
    for (const image of kustomization.images ?? []) {
      expect(image).toEqual({ name: 'SET-THE-IMAGE', newTag: expect.any(String) });
      expect([version, `${version}-journal`]).toContain(image.newTag);
    }
  });
});

test('an agent that reads the journal has the image with journalctl', () => {
  expect(readKustomization('deploy/overlays/journal/kustomization.yaml').images?.[0]?.newTag).toBe(
    `${version}-journal`,
  );
  for (const name of ['openshift', 'k3s', 'eks']) {
    const { resources, images } = readKustomization(`deploy/overlays/${name}/kustomization.yaml`);
    expect(resources).toContain('../journal');
    expect(images).toBeUndefined();
  }
});

test.each(daemonSets)('$file sets only variables that the program knows', ({ manifest }) => {
  // In addition to the settings, doctor reads the name of its own Pod from the environment.
  const known = new Set<string>([...Object.values(settings).map(({ env }) => env), 'POD_NAME', 'POD_NAMESPACE']);
  for (const { env = [] } of containersOf(manifest)) for (const { name } of env) expect(known).toContain(name);
});

test.each(daemonSets)(
  "$file mounts host folders read-only, except for the state, the audit, BPF programs' trace and the socket of flows",
  ({ manifest }) => {
    const { volumes = [] } = manifest.spec.template.spec;
    for (const { name, volumeMounts = [] } of containersOf(manifest)) {
      expect(name).toBe('agent');
      // A patch may also remove a mount.
      const mounts = volumeMounts.filter((mount) => !('$patch' in mount));
      const writable = mounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath);
      const known = new Set([settings.stateDir.default, '/audit', '/tracing', '/flows']);
      expect(writable.filter((path) => !known.has(path))).toEqual([]);
      for (const mount of mounts) expect(volumes.map((volume) => volume.name)).toContain(mount.name);
    }
  },
);

test("only conntrack-owners sees the host's processes, because their files can be reached through /proc/PID/root even if it is read-only", () => {
  const seen = daemonSets.flatMap(({ file, manifest }) =>
    (manifest.spec.template.spec.volumes ?? []).map(({ hostPath }) => ({ file, path: hostPath?.path ?? '' })),
  );
  const ofProc = seen.filter(({ path }) => path === '/' || path.startsWith('/proc'));
  expect(ofProc).toEqual([
    { file: 'deploy/components/conntrack-details/conntrack-details.yaml', path: '/proc/1/net' },
    { file: 'deploy/components/conntrack-details/conntrack-details.yaml', path: '/proc/sys/net/netfilter' },
    { file: 'deploy/components/conntrack-owners/conntrack-owners.yaml', path: '/proc' },
  ]);
});

test('rights are granted only by the base and by components that look up Pods, read Namespaces, set a condition or show flows', () => {
  const granting = files.filter((file) =>
    readManifests(file).some(
      (each) => /^(?:Cluster)?Role(?:Binding)?$|^ServiceAccount$/.test(each.kind) && !('$patch' in each),
    ),
  );
  expect(granting).toEqual([
    policiesFile,
    rightsFile,
    'deploy/components/audit-opt-out/rbac.yaml',
    'deploy/components/calico-lookups/rbac.yaml',
    'deploy/components/live-drops/rbac.yaml',
    'deploy/components/node-condition/rbac.yaml',
    'deploy/components/shared-directory/rbac.yaml',
  ]);
  expect(readKustomization('deploy/base/kustomization.yaml').resources).toEqual(
    expect.arrayContaining(['rbac.yaml', 'policies.yaml']),
  );
});

/** A patch that concerns only the Pod has no containers. */
function containersOf(manifest: DaemonSet): readonly Partial<Container>[] {
  const { containers }: Partial<DaemonSet['spec']['template']['spec']> = manifest.spec.template.spec;
  return containers ?? [];
}
