/**
 * Policies of the whole cluster of sigs.k8s.io/network-policy-api: ClusterNetworkPolicy (policy.networking.k8s.io/v1alpha2), and what it
 * replaced: AdminNetworkPolicy and BaselineAdminNetworkPolicy (v1alpha1). They differ in tier, actions, and how ports are written.
 */
import { at, type Json, list, shown, text } from '../../platform/json.ts';
import { type Clause, nothing, unusable } from '../clauses/clause.ts';
import { readSelector } from '../clauses/label-selector.ts';
import { DomainPeer, NetworkPeer, NodePeer, PodPeer } from '../clauses/peers.ts';
import { PortName, PortRange } from '../clauses/ports.ts';
import type { Action, Direction } from '../model.ts';
import type { Policy, Rule, Subject } from '../policy.ts';
import { anyTier } from '../tiers.ts';
import {
  adminNetworkPolicyFields,
  clusterNetworkPolicyFields,
  podsFields,
  strangeField,
  transportFields,
} from './fields.ts';
import { isPort, readRanges } from './network-policy.ts';
import { changedOf, fieldsOf, LabelSubject, refOf, rule, selectorAt, unknownPolicy } from './read.ts';

interface Kind {
  readonly actions: Readonly<Record<string, Action>>;
  /** Field of a rule with protocols and ports. */
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

/** policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy. */
export function compileClusterNetworkPolicy(object: Json): Policy {
  const tier = at(object, 'spec', 'tier');
  if (tier === 'Admin' || tier === 'Baseline') return compile(object, tier, clusterKind);
  return unknownPolicy(object, anyTier, 'its tier is unknown');
}

/** policy.networking.k8s.io/v1alpha1 AdminNetworkPolicy. */
export function compileAdminNetworkPolicy(object: Json): Policy {
  return compile(object, 'Admin', adminKind);
}

/** policy.networking.k8s.io/v1alpha1 BaselineAdminNetworkPolicy: after all ClusterNetworkPolicies of the tier. */
export function compileBaselineAdminNetworkPolicy(object: Json): Policy {
  const policy = compile(object, 'Baseline', baselineKind);
  return { ...policy, order: Infinity };
}

function compile(object: Json, tier: string, kind: Kind): Policy {
  const spec = at(object, 'spec');
  const priority = at(spec, 'priority');
  const hasPriority = typeof priority === 'number' && Number.isInteger(priority);
  if (!hasPriority && kind !== baselineKind) return unknownPolicy(object, tier, 'its priority is no number');
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
  if (field === 'namespaces') return new LabelSubject({ selector: readSelector(at(subject, 'namespaces')) }, []);
  if (field !== 'pods') return undefined;
  const pods = at(subject, 'pods');
  if (strangeField(pods, podsFields) !== undefined) return undefined;
  return new LabelSubject({ selector: selectorAt(pods, 'namespaceSelector') }, selectorAt(pods, 'podSelector'));
}

/** A policy without rules for a direction is not about it. */
function rules(spec: Json, direction: Direction, field: 'from' | 'to', kind: Kind): Rule[] | undefined {
  const given = list(at(spec, direction));
  if (given.length === 0) return undefined;
  return given.flatMap((each) => readRule(each, direction, field, kind));
}

function readRule(given: Json, direction: Direction, field: 'from' | 'to', kind: Kind): Rule[] {
  const action = kind.actions[text(at(given, 'action')) ?? ''];
  // Which of all actions it takes is unknown.
  if (action === undefined)
    return (['admit', 'deny', 'pass'] as const).map((each) =>
      rule(each, [[field, [unusable('a rule has an unknown action')]]]),
    );
  const peers = list(at(given, field)).map((peer) => peerClause(peer, direction));
  const known = peers.filter((clause) => clause !== undefined);
  // Fail closed, as the API wants it: what newer versions know is seen here as a peer without a field that is known.
  if (known.length === 0 || known.length < peers.length)
    return [action === 'admit' ? rule(action, [[field, [nothing]]]) : rule('deny', [])];
  const strange = strangeField(given, kind.fields[direction][0]);
  return [
    rule(action, [
      ['rule', strange === undefined ? [] : [unusable(`a rule has the unknown field ${strange}`)]],
      [kind.ports, list(at(given, kind.ports)).map(kind.port)],
      [field, known],
    ]),
  ];
}

/** Undefined for a peer of an unknown kind. */
function peerClause(peer: Json, direction: Direction): Clause | undefined {
  const [field, ...more] = fieldsOf(peer);
  if (field === undefined || more.length > 0) return undefined;
  const value = at(peer, field);
  if (field === 'namespaces') return new PodPeer({ selector: readSelector(value) }, []);
  if (field === 'pods') {
    if (strangeField(value, podsFields) !== undefined) return undefined;
    return new PodPeer({ selector: selectorAt(value, 'namespaceSelector') }, selectorAt(value, 'podSelector'));
  }
  if (direction === 'ingress') return undefined;
  if (field === 'nodes') return new NodePeer(readSelector(value));
  if (field === 'domainNames') return new DomainPeer(list(value).map(shown));
  if (field !== 'networks') return undefined;
  const ranges = readRanges(list(value));
  if (typeof ranges === 'string') return unusable(`${ranges} of networks is no CIDR`);
  return new NetworkPeer(ranges, `networks ${list(value).map(shown).join(', ')}`);
}

/** v1alpha2: one of tcp, udp, sctp, destinationNamedPort. */
function protocolClause(given: Json): Clause {
  const [field, ...more] = fieldsOf(given);
  const value = field === undefined ? undefined : at(given, field);
  if (more.length > 0) return unusable('a protocol has several fields');
  if (field === 'destinationNamedPort' && typeof value === 'string') return new PortName(value, undefined);
  if (field !== 'tcp' && field !== 'udp' && field !== 'sctp') return unusable('a protocol is of an unknown kind');
  const strange = strangeField(value, transportFields);
  if (strange !== undefined) return unusable(`a protocol has the unknown field ${strange}`);
  const port = at(value, 'destinationPort');
  if (port === undefined || port === null) return new PortRange(field.toUpperCase());
  return rangeClause(field.toUpperCase(), at(port, 'number'), at(port, 'range'));
}

/** v1alpha1: one of portNumber, portRange, namedPort. */
function portClause(given: Json): Clause {
  const [field, ...more] = fieldsOf(given);
  const value = field === undefined ? undefined : at(given, field);
  if (more.length > 0) return unusable('a port has several fields');
  if (field === 'namedPort' && typeof value === 'string') return new PortName(value, undefined);
  const protocol = text(at(value, 'protocol')) ?? 'TCP';
  if (!['TCP', 'UDP', 'SCTP'].includes(protocol)) return unusable('a port has an unknown protocol');
  if (field === 'portNumber') return rangeClause(protocol, at(value, 'port'), undefined);
  if (field === 'portRange') return rangeClause(protocol, undefined, value);
  return unusable('a port is of an unknown kind');
}

function rangeClause(protocol: string, number: Json, range: Json): Clause {
  if (isPort(number)) return new PortRange(protocol, number, number);
  const [start, end] = [at(range, 'start'), at(range, 'end')];
  if (isPort(start) && isPort(end) && start <= end) return new PortRange(protocol, start, end);
  return unusable('a port is no port');
}
