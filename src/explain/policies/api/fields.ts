/** Lists the known fields of evaluated policies, because ignoring a misspelled field would evaluate another policy. */
import { at, type Json } from '../../../base/platform/json.ts';

/** Describes the values of a field: any value, a text of a set, a list of one shape, or an object with known fields. */
export type Shape = 'any' | ReadonlySet<string> | readonly [Shape] | FieldShapes;
export interface FieldShapes {
  readonly [field: string]: Shape;
}

/** `known`: the fields allowed in place of an unknown one; empty for other problems. */
export interface FieldProblem {
  readonly path: readonly string[];
  readonly message: string;
  readonly known: readonly string[];
}

const range = { start: 'any', end: 'any' } as const;
const selector = { matchLabels: 'any', matchExpressions: [{ key: 'any', operator: 'any', values: ['any'] }] } as const;
export const podsFields = { namespaceSelector: selector, podSelector: selector } as const;

export const portFields = { protocol: 'any', port: 'any', endPort: 'any' } as const;
export const peerFields = { ipBlock: { cidr: 'any', except: ['any'] }, ...podsFields } as const;
export const ruleFields = {
  ingress: { from: [peerFields], ports: [portFields] },
  egress: { to: [peerFields], ports: [portFields] },
} as const;
export const networkPolicyFields = {
  podSelector: selector,
  policyTypes: [new Set(['Ingress', 'Egress'])],
  ingress: [ruleFields.ingress],
  egress: [ruleFields.egress],
  // Only a StagedKubernetesNetworkPolicy has this field.
  stagedAction: 'any',
} as const satisfies FieldShapes;

export const transportFields = { destinationPort: { number: 'any', range } } as const;
const subject = { namespaces: selector, pods: podsFields } as const;
const destinations = { ...subject, nodes: selector, networks: ['any'], domainNames: ['any'] } as const;

function clusterFields(ports: FieldShapes) {
  const rule = { name: 'any', action: 'any', ...ports } as const;
  return {
    tier: 'any',
    priority: 'any',
    subject,
    ingress: [{ ...rule, from: [subject] }],
    egress: [{ ...rule, to: [destinations] }],
  } as const satisfies FieldShapes;
}

export const clusterNetworkPolicyFields = clusterFields({
  protocols: [{ tcp: transportFields, udp: transportFields, sctp: transportFields, destinationNamedPort: 'any' }],
});
export const adminNetworkPolicyFields = clusterFields({
  ports: [{ portNumber: { protocol: 'any', port: 'any' }, portRange: { protocol: 'any', ...range }, namedPort: 'any' }],
});

const icmp = { type: 'any', code: 'any' } as const;
export const calicoEntityFields = {
  nets: ['any'],
  selector: 'any',
  namespaceSelector: 'any',
  services: { name: 'any', namespace: 'any' },
  ports: ['any'],
  notNets: ['any'],
  notSelector: 'any',
  notPorts: ['any'],
  serviceAccounts: { names: ['any'], selector: 'any' },
} as const;
export const calicoRuleFields = {
  action: 'any',
  ipVersion: 'any',
  protocol: 'any',
  icmp,
  notProtocol: 'any',
  notICMP: icmp,
  source: calicoEntityFields,
  destination: calicoEntityFields,
  http: 'any',
  metadata: 'any',
} as const;
export const calicoPolicyFields = {
  tier: 'any',
  order: 'any',
  ingress: [calicoRuleFields],
  egress: [calicoRuleFields],
  selector: 'any',
  types: ['any'],
  serviceAccountSelector: 'any',
  namespaceSelector: 'any',
  doNotTrack: 'any',
  preDNAT: 'any',
  applyOnForward: 'any',
  performanceHints: 'any',
  stagedAction: 'any',
} as const;

const ciliumPeers = ['Endpoints', 'Requires', 'CIDR', 'CIDRSet', 'Entities', 'Nodes', 'Groups'];
const ciliumPort = { ports: [{ port: 'any', endPort: 'any', protocol: 'any' }] } as const;
const ciliumPorts = {
  ...ciliumPort,
  rules: 'any',
  terminatingTLS: 'any',
  originatingTLS: 'any',
  serverNames: ['any'],
  listener: 'any',
} as const;
function ciliumRule(peers: readonly string[], more: FieldShapes): FieldShapes {
  return { ...Object.fromEntries(peers.map((peer) => [peer, ['any'] as const])), icmps: ['any'], ...more };
}
const ciliumDirection = {
  ingress: ciliumPeers.map((peer) => `from${peer}`),
  egress: [...ciliumPeers, 'Services', 'FQDNs'].map((peer) => `to${peer}`),
};
const admitting = { toPorts: [ciliumPorts], authentication: 'any' } as const;
export const ciliumRuleFields = {
  ingress: ciliumRule(ciliumDirection.ingress, admitting),
  egress: ciliumRule(ciliumDirection.egress, admitting),
};
export const ciliumPolicyFields = {
  endpointSelector: selector,
  nodeSelector: selector,
  ingress: [ciliumRuleFields.ingress],
  egress: [ciliumRuleFields.egress],
  ingressDeny: [ciliumRule(ciliumDirection.ingress, { toPorts: [ciliumPort] })],
  egressDeny: [ciliumRule(ciliumDirection.egress, { toPorts: [ciliumPort] })],
  enableDefaultDeny: { ingress: 'any', egress: 'any' },
  labels: 'any',
  description: 'any',
  log: 'any',
} as const satisfies FieldShapes;

const metadata = Object.fromEntries(
  (
    'namespace name generateName labels annotations uid resourceVersion generation creationTimestamp deletionTimestamp ' +
    'deletionGracePeriodSeconds ownerReferences finalizers managedFields selfLink clusterName'
  )
    .split(' ')
    .map((field) => [field, 'any'] as const),
);

export function strangeField(object: Json, fields: FieldShapes): string | undefined {
  return Object.keys(isMap(object) ? object : {}).find(
    (key) => !Object.hasOwn(fields, key) && isGiven(at(object, key)),
  );
}

/** `spec`: the known fields of its spec; only Cilium policies may have several specs. */
export function fieldProblems(object: Json, spec: FieldShapes): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const specs: FieldShapes = spec === ciliumPolicyFields ? { specs: [spec] } : {};
  look(object, { apiVersion: 'any', kind: 'any', metadata, spec, ...specs, status: 'any' }, [], problems);
  return problems;
}

function look(value: Json, shape: Shape, path: readonly string[], problems: FieldProblem[]): void {
  const refuse = (message: string): number => problems.push({ path, message, known: [] });
  if (shape === 'any' || !isGiven(value)) return;
  if (shape instanceof Set) {
    if (typeof value !== 'string' || !shape.has(value)) refuse(`must be one of ${[...shape].join(', ')}`);
  } else if (Array.isArray(shape)) {
    const [item] = shape as readonly [Shape];
    if (!Array.isArray(value)) refuse('must be a list');
    else for (const [index, each] of value.entries()) look(each, item, [...path, String(index)], problems);
  } else if (!isMap(value)) refuse(`must be an object${Array.isArray(value) ? ', not a list' : ''}`);
  else
    for (const [key, each] of Object.entries(value)) {
      const fields = shape as FieldShapes;
      const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (field !== undefined) look(each, field, [...path, key], problems);
      else if (isGiven(each))
        problems.push({ path: [...path, key], message: 'there is no such field', known: Object.keys(fields) });
    }
}

function isMap(value: Json): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A null counts as absent, as in Go. */
export function isGiven(value: Json): boolean {
  return value !== null && value !== undefined;
}
