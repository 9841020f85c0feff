import type { Connection } from '../control-plane/connection.ts';
import { until } from '../until.ts';

interface KindOptions {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly scope: 'Namespaced' | 'Cluster';
}

/** Defines a kind of another project, whose objects may have any fields. Resolves when the API server serves it. */
export async function defineKind(connection: Connection, { group, version, kind, scope }: KindOptions): Promise<void> {
  const singular = kind.toLowerCase();
  const plural = `${singular.replace(/y$/, 'ie')}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await connection.apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' } },
    spec: {
      group,
      scope,
      names: { kind, singular, plural, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  });
  const path = `/apis/${group}/${version}/${plural}`;
  await until(
    async () => (await connection.request('GET', path)).status === 200,
    () => `${path} is not served`,
  );
}
