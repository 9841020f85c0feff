import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import type { AwsPod } from './aws-vpc-cni.ts';
import { defineKind } from './definitions.ts';

/**
 * The objects from which the network policy agent of the AWS VPC CNI knows policies. On EKS a controller makes them
 * from NetworkPolicies (aws/amazon-network-policy-controller-k8s, whose module is not available).
 */

const group = 'networking.k8s.aws';
const version = 'v1alpha1';

export interface AwsPlace {
  readonly nodeAddress: string;
  readonly pods: readonly AwsPod[];
}

/** The part of a NetworkPolicy that these tests use. Pods are selected by the label `app`, which is their name. */
export interface SimplePolicy {
  readonly name: string;
  readonly namespace: string;
  /** The Pod that it selects. */
  readonly of: string;
  readonly direction: 'Ingress' | 'Egress';
  /** The peer that it allows, and at which port; nothing if it is left out. */
  readonly allows?: { readonly peer?: string; readonly port: number; readonly protocol: 'TCP' | 'UDP' };
}

/** Resolves when the API server serves both kinds. */
export async function definePolicyEndpoints(connection: Connection): Promise<void> {
  await defineKind(connection, { group, version, kind: 'PolicyEndpoint', scope: 'Namespaced' });
  await defineKind(connection, { group, version, kind: 'ClusterPolicyEndpoint', scope: 'Cluster' });
}

/** Removes all objects of both kinds: a network policy agent also counts those of other nodes. */
export async function removePolicyEndpoints(connection: Connection): Promise<void> {
  await connection.succeed(['delete', 'policyendpoints,clusterpolicyendpoints', '--all', '--all-namespaces']);
}

export function networkPolicyOf({ name, namespace, of, direction, allows }: SimplePolicy): KubernetesObject {
  const peers = allows?.peer === undefined ? [] : [{ podSelector: { matchLabels: { app: allows.peer } } }];
  const rule = allows && {
    ...(peers.length > 0 && { [direction === 'Ingress' ? 'from' : 'to']: peers }),
    ports: [{ port: allows.port, protocol: allows.protocol }],
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec: {
      podSelector: { matchLabels: { app: of } },
      policyTypes: [direction],
      ...(rule && { [direction.toLowerCase()]: [rule] }),
    },
  };
}

/** What EKS makes from this NetworkPolicy: selectors are replaced by addresses. */
export function policyEndpointOf(policy: SimplePolicy, place: AwsPlace): KubernetesObject {
  const { name, namespace, of, direction, allows } = policy;
  const cidr = place.pods.find((pod) => pod.name === allows?.peer)?.address ?? everywhere(place);
  return {
    apiVersion: `${group}/${version}`,
    kind: 'PolicyEndpoint',
    metadata: { name: `${name}-x7x2k`, namespace },
    spec: {
      podSelector: { matchLabels: { app: of } },
      policyRef: { name, namespace },
      podIsolation: [direction],
      podSelectorEndpoints: endpointsOf(of, place),
      ...(allows && {
        [direction.toLowerCase()]: [{ cidr, ports: [{ port: allows.port, protocol: allows.protocol }] }],
      }),
    },
  };
}

export interface ClusterDenial {
  readonly name: string;
  readonly tier: 'Admin' | 'Baseline';
  /** The Pod to which nobody may send at that port. */
  readonly of: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** What EKS makes from such a ClusterNetworkPolicy. */
export function clusterPolicyEndpointOf(denial: ClusterDenial, place: AwsPlace): KubernetesObject {
  const { name, tier, of, port, protocol } = denial;
  return {
    apiVersion: `${group}/${version}`,
    kind: 'ClusterPolicyEndpoint',
    metadata: { name: `${name}-x7x2k` },
    spec: {
      policyRef: { name },
      tier,
      priority: 10,
      podSelectorEndpoints: endpointsOf(of, place),
      ingress: [{ cidr: everywhere(place), action: 'Deny', ports: [{ port, protocol }] }],
    },
  };
}

function everywhere({ nodeAddress }: AwsPlace): string {
  return nodeAddress.includes(':') ? '::/0' : '0.0.0.0/0';
}

function endpointsOf(of: string, { nodeAddress, pods }: AwsPlace): object[] {
  return pods
    .filter(({ name }) => name === of)
    .map(({ name, namespace, address }) => ({ hostIP: nodeAddress, podIP: address, name, namespace }));
}
