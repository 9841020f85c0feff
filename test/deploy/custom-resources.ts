/** Definitions of other projects' objects in the manifests: only the used fields, with their types. */

import type { Manifest } from './manifests.ts';

const tables: {
  definitions: { group: string; kind: string; scope: Scope; properties: object }[];
} = {
  // Fields of resources of other projects that the manifests use, with the types that they have there.
  definitions: [
    // prometheus-operator/prometheus-operator, example/prometheus-operator-crd
    {
      group: 'monitoring.coreos.com',
      kind: 'PodMonitor',
      scope: 'Namespaced',
      properties: {
        spec: {
          type: 'object',
          properties: {
            selector: {
              type: 'object',
              properties: { matchLabels: { type: 'object', additionalProperties: { type: 'string' } } },
            },
            podMetricsEndpoints: {
              type: 'array',
              items: {
                type: 'object',
                properties: {
                  port: { type: 'string' },
                  path: { type: 'string' },
                  interval: { type: 'string' },
                  relabelings: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: {
                        sourceLabels: { type: 'array', items: { type: 'string' } },
                        targetLabel: { type: 'string' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
    // openshift/api, security/v1. Its fields are next to metadata, not in a spec.
    {
      group: 'security.openshift.io',
      kind: 'SecurityContextConstraints',
      scope: 'Cluster',
      properties: {
        users: { type: 'array', items: { type: 'string' } },
        groups: { type: 'array', items: { type: 'string' } },
        volumes: { type: 'array', items: { type: 'string' } },
        seccompProfiles: { type: 'array', items: { type: 'string' } },
        requiredDropCapabilities: { type: 'array', items: { type: 'string' } },
        allowedCapabilities: { type: 'array', items: { type: 'string' }, nullable: true },
        defaultAddCapabilities: { type: 'array', items: { type: 'string' }, nullable: true },
        priority: { type: 'integer', nullable: true },
        allowHostDirVolumePlugin: { type: 'boolean' },
        allowHostIPC: { type: 'boolean' },
        allowHostNetwork: { type: 'boolean' },
        allowHostPID: { type: 'boolean' },
        allowHostPorts: { type: 'boolean' },
        allowPrivilegeEscalation: { type: 'boolean' },
        allowPrivilegedContainer: { type: 'boolean' },
        readOnlyRootFilesystem: { type: 'boolean' },
        runAsUser: { type: 'object', properties: { type: { type: 'string' } } },
        seLinuxContext: { type: 'object', properties: { type: { type: 'string' } } },
        fsGroup: { type: 'object', properties: { type: { type: 'string' } } },
        supplementalGroups: { type: 'object', properties: { type: { type: 'string' } } },
      },
    },
  ],
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
