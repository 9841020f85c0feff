/** Policies of Cilium, and the meaning of each of its entities. */
import type { ConnectionVerdict, End } from '../../../../src/explain/policies/policies.ts';
import { end, external, node, onNodeA, type Row, worker } from '../rows.ts';

const tables: { entities: [entity: string, of: Record<string, Expected>][] } = {
  // Entities of Cilium, and the verdict of a rule that names one for each kind of peer.
  entities: [
    ['all', { pod: 'admits', ownHost: 'admits', otherNode: 'admits', outside: 'admits', somebody: 'admits' }],
    ['world', { pod: 'denies', ownHost: 'admits', otherNode: 'denies', outside: 'admits', somebody: 'unknown' }],
    ['world-ipv4', { pod: 'denies', otherNode: 'denies', outside: 'admits' }],
    ['world-ipv6', { pod: 'denies', outside: 'denies' }],
    ['cluster', { pod: 'admits', otherNode: 'admits', otherHost: 'admits', outside: 'denies', somebody: 'unknown' }],
    ['cluster-mesh', { pod: 'admits', otherNode: 'admits', outside: 'unknown' }],
    ['remote-node', { pod: 'denies', otherNode: 'admits', otherHost: 'admits', outside: 'denies' }],
    ['host', { pod: 'denies', otherNode: 'denies', otherHost: 'denies', outside: 'denies', somebody: 'unknown' }],
    ['kube-apiserver', { pod: 'denies', otherNode: 'unknown', outside: 'unknown' }],
    ['ingress', { pod: 'denies', otherNode: 'denies', outside: 'unknown' }],
    ['unmanaged', { pod: 'unknown', outside: 'denies' }],
    ['init', { pod: 'denies', outside: 'denies' }],
    ['health', { pod: 'denies', outside: 'denies', somebody: 'unknown' }],
    ['none', { pod: 'denies', outside: 'denies' }],
    ['mars', { pod: 'unknown' }],
  ],
};

export function cnp(spec: object, name = 'policy', of = 'shop'): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name, namespace: of }, spec };
}

export const fromLabels = (matchLabels: object): object => ({ fromEndpoints: [{ matchLabels }] });
export const inBatch = { 'k8s:io.kubernetes.pod.namespace': 'batch' };
export const isolating = cnp({ endpointSelector: {}, ingress: [{}] }, 'isolating');

type Expected = ConnectionVerdict['outcome'];

const entities: [entity: string, of: Record<string, Expected>][] = tables.entities;

const sources: Readonly<Record<string, End>> = {
  pod: end(worker),
  // A Node reaches its own Pods, whatever policies say.
  ownHost: end(onNodeA),
  otherHost: end({ ...onNodeA, name: 'proxy-b', node: 'node-b' }, '192.168.7.12'),
  otherNode: node('node-b', '192.168.7.12'),
  outside: external('192.0.2.7'),
  somebody: { kind: 'unknown', address: '10.65.9.9' },
};

export const rowsOfEntities: [title: string, Row][] = entities.flatMap(([entity, of]) =>
  Object.entries(of).map(([source, ingress]): [string, Row] => {
    const policies = [cnp({ endpointSelector: {}, ingress: [{ fromEntities: [entity] }] })];
    return [`entity ${entity} for ${source}`, { policies, ingress, given: { source: sources[source] as End } }];
  }),
);
