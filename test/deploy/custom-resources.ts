/** Definitions of what the manifests use of other projects: those fields, with the types that they have there. */

import type { Manifest } from './manifests.ts';
import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  definitions: { group: string; kind: string; scope: Scope; properties: object }[];
};

type Scope = 'Cluster' | 'Namespaced';

/** Any fields, all of which are kept. */
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** A CustomResourceDefinition with one version; `schema`: OpenAPI v3. */
export function definitionOf(
  { group, version, kind, scope }: { group: string; version: string; kind: string; scope: Scope },
  schema: object = anything,
): Manifest & { spec: object } {
  const singular = kind.toLowerCase();
  const plural = `${singular.replace(/y$/, 'ie')}s`.replace('constraintss', 'constraints');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

export const definitions: readonly object[] = tables.definitions.map(({ properties, ...of }) =>
  definitionOf({ ...of, version: 'v1' }, { type: 'object', properties }),
);
