import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Manifest, type PodSpec, daemonSetOf, parseManifests, root } from '../deploy/manifests.ts';
import type { Connection } from './control-plane/connection.ts';
import type { Outcome } from './outcome.ts';

export type Deploying = ReturnType<typeof createDeploying>;

/**
 * kubectl's rendering of manifests, and the API server's answer to them. `folder`: for overlays that the tests make.
 */
export function createDeploying({ kubectl }: Pick<Connection, 'kubectl'>, folder: string) {
  return {
    /** A folder of deploy/ as `kubectl kustomize` prints it; with components, as a user's own overlay would have them. */
    async render(base: string, components: readonly string[] = []): Promise<string> {
      const own = await mkdtemp(join(folder, 'overlay-'));
      const path = (name: string): string => relative(own, join(root, 'deploy', name));
      const kustomization = { resources: [path(base)], components: components.map(path) };
      await writeFile(join(own, 'kustomization.yaml'), JSON.stringify(kustomization));
      return succeed(kubectl(['kustomize', own]));
    },
    /**
     * Applied by the server, and strictly. Other tests install the same account, so conflicts are overridden. `more`:
     * options of kubectl.
     */
    apply(this: void, input: string, more: readonly string[] = []): Promise<Outcome> {
      const how = ['--server-side', '--validate=strict', '--force-conflicts', ...more];
      return kubectl(['apply', ...how, '-f', '-'], { input });
    },
    /** Makes the API server check a Pod as if it were created. */
    admit(spec: PodSpec, namespace: string): Promise<Outcome> {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'admitted', namespace }, spec };
      return kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input: JSON.stringify(pod) });
    },
  };
}

/** Applies objects, and waits until the API server serves the kinds that they define. */
export async function createAll(
  { kubectl }: Pick<Connection, 'kubectl'>,
  { apply }: Deploying,
  items: readonly object[],
): Promise<void> {
  await succeed(apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items })));
  const names = (items as readonly Manifest[])
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map(({ metadata }) => `crd/${metadata.name}`);
  if (names.length > 0) await succeed(kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names]));
}

export function namespaceWith(name: string, labels: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** Returns the Pod of the DaemonSet among the rendered objects. */
export function podOf(rendered: string): PodSpec {
  return daemonSetOf(parseManifests(rendered)).spec.template.spec;
}

export async function succeed(command: Promise<Outcome>): Promise<string> {
  const { code, stdout, stderr } = await command;
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
