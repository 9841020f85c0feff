/** Definitions of what the manifests use of other projects: those fields, with the types that they have there. */

import type { Manifest } from './manifests.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const texts = { type: 'array', items: text };
const strategy = object({ type: text });

function object(properties: object): object {
  return { type: 'object', properties };
}

function definition(group: string, kind: string, scope: Scope, properties: object): object {
  return definitionOf({ group, version: 'v1', kind, scope }, object(properties));
}

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

export const definitions: readonly object[] = [
  // prometheus-operator/prometheus-operator, example/prometheus-operator-crd
  definition('monitoring.coreos.com', 'PodMonitor', 'Namespaced', {
    spec: object({
      selector: object({ matchLabels: { type: 'object', additionalProperties: text } }),
      podMetricsEndpoints: {
        type: 'array',
        items: object({
          port: text,
          path: text,
          interval: text,
          relabelings: { type: 'array', items: object({ sourceLabels: texts, targetLabel: text }) },
        }),
      },
    }),
  }),
  // openshift/api, security/v1. Its fields stand beside metadata.
  definition('security.openshift.io', 'SecurityContextConstraints', 'Cluster', {
    users: texts,
    groups: texts,
    volumes: texts,
    seccompProfiles: texts,
    requiredDropCapabilities: texts,
    allowedCapabilities: { ...texts, nullable: true },
    defaultAddCapabilities: { ...texts, nullable: true },
    priority: { type: 'integer', nullable: true },
    ...Object.fromEntries(
      [
        'allowHostDirVolumePlugin',
        'allowHostIPC',
        'allowHostNetwork',
        'allowHostPID',
        'allowHostPorts',
        'allowPrivilegeEscalation',
        'allowPrivilegedContainer',
        'readOnlyRootFilesystem',
      ].map((name) => [name, flag]),
    ),
    runAsUser: strategy,
    seLinuxContext: strategy,
    fsGroup: strategy,
    supplementalGroups: strategy,
  }),
];
