/**
 * Compiles the cluster-wide policies of sigs.k8s.io/network-policy-api: ClusterNetworkPolicy (policy.networking.k8s.io/v1beta1, and the same
 * in v1alpha2), and its predecessors AdminNetworkPolicy and BaselineAdminNetworkPolicy (v1alpha1). They differ in tiers, actions, and the form of ports.
 */
import { at, type Json, list, shown, text } from '../../../base/platform/json.ts';
import { type Clause, clauseOf, type Policy, type Rule, type Subject, unusable } from '../policy.ts';
import { type LabelSelector, readSelector } from '../clauses/labels.ts';
import { domainPeer, NetworkPeer, nodePeer, PodPeer } from '../clauses/peers.ts';
import { isPort, isPortProtocol, PortName, PortRange } from '../clauses/ports.ts';
import { type Action, type PolicyDirection, anyTier } from '../model.ts';
import { readNetworks } from '../clauses/networks.ts';
import {
  adminNetworkPolicyFields,
  clusterNetworkPolicyFields,
  isGiven,
  podsFields,
  strangeField,
  transportFields,
} from './fields.ts';
import {
  anyAction,
  changedOf,
  fieldsOf,
  LabelSubject,
  readRules,
  refOf,
  rule,
  selectorAt,
  strangeClause,
  strangeClauses,
  unknownPolicy,
} from './read.ts';

interface Kind {
  readonly actions: Readonly<Record<string, Action>>;
  readonly ports: 'protocols' | 'ports';
  readonly port: (given: Json) => Clause;
  readonly fields: typeof clusterNetworkPolicyFields;
}

const clusterKind: Kind = {
  actions: { Accept: 'admit', Deny: 'deny', Pass: 'pass' },
  ports: 'protocols',
  port: protocolClause,
  fields: clusterNetworkPolicyFields,
};
const adminKind: Kind = {
  actions: { Allow: 'admit', Deny: 'deny', Pass: 'pass' },
  ports: 'ports',
  port: portClause,
  fields: adminNetworkPolicyFields,
};
const baselineKind: Kind = { ...adminKind, actions: { Allow: 'admit', Deny: 'deny' } };

/** In their tier, a BaselineAdminNetworkPolicy comes after all ClusterNetworkPolicies. */
export function compileClusterPolicy(object: Json): Policy {
  const tier = at(object, 'spec', 'tier');
  switch (refOf(object).kind) {
    case 'AdminNetworkPolicy':
      return compile(object, 'Admin', adminKind);
    case 'BaselineAdminNetworkPolicy':
      return { ...compile(object, 'Baseline', baselineKind), order: Infinity };
    default:
      if (tier === 'Admin' || tier === 'Baseline') return compile(object, tier, clusterKind);
      return unknownPolicy(object, anyTier, 'its tier is unknown');
  }
}

function compile(object: Json, tier: string, kind: Kind): Policy {
  const spec = at(object, 'spec');
  const priority = at(spec, 'priority');
  const hasPriority = typeof priority === 'number' && Number.isInteger(priority);
  if (!hasPriority && kind !== baselineKind) return unknownPolicy(object, tier, 'its priority is not a number');
  const strange = strangeField(spec, kind.fields);
  if (strange !== undefined) return unknownPolicy(object, tier, `it has the unknown field ${strange}`);
  const subject = readSubject(at(spec, 'subject'));
  if (subject === undefined) return unknownPolicy(object, tier, 'its subject is of an unknown kind');
  return {
    ref: { ...refOf(object), namespace: undefined },
    tier,
    order: hasPriority ? priority : 0,
    subject,
    rules: { ingress: rules(spec, 'ingress', 'from', kind), egress: rules(spec, 'egress', 'to', kind) },
    changed: changedOf(object),
  };
}

function readSubject(subject: Json): Subject | undefined {
  const [field, ...more] = fieldsOf(subject);
  if (more.length > 0) return undefined;
  const selectors = selectorsOf(field, field === undefined ? undefined : at(subject, field));
  return selectors && new LabelSubject(...selectors);
}

function selectorsOf(field: string | undefined, value: Json): [LabelSelector, LabelSelector] | undefined {
  if (field === 'namespaces') return [readSelector(value), []];
  if (field !== 'pods' || strangeField(value, podsFields) !== undefined) return undefined;
  return [selectorAt(value, 'namespaceSelector'), selectorAt(value, 'podSelector')];
}

/** Without rules for a direction, the policy does not apply to it. */
function rules(spec: Json, direction: PolicyDirection, field: 'from' | 'to', kind: Kind): Rule[] | undefined {
  const given = list(at(spec, direction));
  if (given.length === 0) return undefined;
  return readRules(given, direction, (each) => readRule(each, direction, field, kind));
}

function readRule(given: Json, direction: PolicyDirection, field: 'from' | 'to', kind: Kind): Rule[] {
  const action = kind.actions[text(at(given, 'action')) ?? ''];
  if (action === undefined) return anyAction(field, 'a rule has an unknown action');
  const peers = list(at(given, field)).map((peer) => peerClause(peer, direction));
  const known = peers.filter((clause) => clause !== undefined);
  // A peer with no known field may be of a newer version. The API then requires that Accept matches nothing, and Deny and Pass deny all.
  if (known.length === 0 || known.length < peers.length)
    return [action === 'admit' ? rule(action, [[field, [nothing]]]) : rule('deny', [])];
  return [
    rule(action, [
      ['rule', strangeClauses('a rule', given, kind.fields[direction][0])],
      [kind.ports, list(at(given, kind.ports)).map(kind.port)],
      [field, known],
    ]),
  ];
}

const nothing = clauseOf(
  'nothing',
  () => false,
  () => 'cannot match it',
);

function peerClause(peer: Json, direction: PolicyDirection): Clause | undefined {
  const [field, ...more] = fieldsOf(peer);
  if (field === undefined || more.length > 0) return undefined;
  const value = at(peer, field);
  const selectors = selectorsOf(field, value);
  if (selectors !== undefined) return new PodPeer(...selectors);
  if (direction === 'ingress') return undefined;
  if (field === 'nodes') return nodePeer(readSelector(value));
  if (field === 'domainNames') return domainPeer(list(value).map(shown));
  if (field !== 'networks') return undefined;
  const networks = readNetworks(list(value));
  if (typeof networks === 'string') return unusable(`${networks} of networks is not a CIDR`);
  return new NetworkPeer(networks, `networks ${networks.map(({ text: network }) => network).join(', ')}`);
}

/** Reads a port of a ClusterNetworkPolicy: one of tcp, udp, sctp, destinationNamedPort. */
function protocolClause(given: Json): Clause {
  const [field, ...more] = fieldsOf(given);
  const value = field === undefined ? undefined : at(given, field);
  if (more.length > 0) return unusable('a protocol has several fields');
  if (field === 'destinationNamedPort' && typeof value === 'string') return new PortName(value, undefined);
  if (field !== 'tcp' && field !== 'udp' && field !== 'sctp') return unusable('a protocol is of an unknown kind');
  const strange = strangeClause('a protocol', value, transportFields);
  if (strange !== undefined) return strange;
  const port = at(value, 'destinationPort');
  if (!isGiven(port)) return new PortRange(field.toUpperCase());
  return rangeClause(field.toUpperCase(), at(port, 'number'), at(port, 'range'));
}

/** Reads a port of v1alpha1: one of portNumber, portRange, namedPort. */
function portClause(given: Json): Clause {
  const [field, ...more] = fieldsOf(given);
  const value = field === undefined ? undefined : at(given, field);
  if (more.length > 0) return unusable('a port has several fields');
  if (field === 'namedPort' && typeof value === 'string') return new PortName(value, undefined);
  const protocol = text(at(value, 'protocol')) ?? 'TCP';
  if (!isPortProtocol(protocol)) return unusable('a port has an unknown protocol');
  if (field === 'portNumber') return rangeClause(protocol, at(value, 'port'), undefined);
  if (field === 'portRange') return rangeClause(protocol, undefined, value);
  return unusable('a port is of an unknown kind');
}

function rangeClause(protocol: string, number: Json, range: Json): Clause {
  if (isPort(number)) return new PortRange(protocol, number, number);
  const [start, end] = [at(range, 'start'), at(range, 'end')];
  if (isPort(start) && isPort(end) && start <= end) return new PortRange(protocol, start, end);
  return unusable('a port is not valid');
}
