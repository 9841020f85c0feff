/** Compiles NetworkPolicies (networking.k8s.io/v1, api/networking/v1/types.go), with or without the API server's defaults. */
import { at, type Json, list, shown } from '../../platform/json.ts';
import { type Clause, type Policy, type Rule, unusable } from '../policy.ts';
import { readNetworks } from '../clauses/networks.ts';
import { BlockPeer, exceptText, PodPeer } from '../clauses/peers.ts';
import { isPort, isPortProtocol, PortName, PortRange } from '../clauses/ports.ts';
import { type Direction, networkPolicyOrder, networkPolicyTier } from '../model.ts';
import { networkPolicyFields, peerFields, portFields, ruleFields, strangeField } from './fields.ts';
import {
  changedOf,
  fieldsOf,
  LabelSubject,
  refOf,
  rule,
  selectorAt,
  strangeClause,
  strangeClauses,
  unknownPolicy,
} from './read.ts';

export function compileNetworkPolicy(object: Json): Policy {
  const ref = refOf(object);
  const spec = at(object, 'spec');
  const namespace = ref.namespace ?? 'default';
  const strange = strangeField(spec, networkPolicyFields);
  if (strange !== undefined) return unknownPolicy(object, networkPolicyTier, `it has the unknown field ${strange}`);
  return {
    ref: { ...ref, namespace },
    tier: networkPolicyTier,
    order: networkPolicyOrder,
    subject: new LabelSubject(undefined, selectorAt(spec, 'podSelector')),
    rules: { ingress: rules(spec, 'ingress', 'from', namespace), egress: rules(spec, 'egress', 'to', namespace) },
    changed: changedOf(object),
  };
}

function rules(spec: Json, direction: Direction, field: 'from' | 'to', namespace: string): Rule[] | undefined {
  const given = list(at(spec, direction));
  const types = list(at(spec, 'policyTypes'));
  const name = direction === 'ingress' ? 'Ingress' : 'Egress';
  // Missing types get the API server's defaults (pkg/apis/networking/v1/defaults.go).
  const isAbout = types.length > 0 ? types.includes(name) : direction === 'ingress' || given.length > 0;
  if (!isAbout) return undefined;
  return given.map((each) =>
    rule('admit', [
      ['rule', strangeClauses('a rule', each, ruleFields[direction])],
      ['ports', list(at(each, 'ports')).map(portClause)],
      [field, list(at(each, field)).map((peer) => peerClause(peer, namespace))],
    ]),
  );
}

function portClause(given: Json): Clause {
  const strange = strangeClause('a port', given, portFields);
  if (strange !== undefined) return strange;
  const protocol = at(given, 'protocol') ?? 'TCP';
  const [port, end] = [at(given, 'port') ?? undefined, at(given, 'endPort') ?? undefined];
  if (!isPortProtocol(protocol)) return unusable('a port has an unknown protocol');
  if (port === undefined && end === undefined) return new PortRange(protocol);
  // A port name has a letter: the API server rejects a number in quotes.
  if (typeof port === 'string' && /[a-z]/.test(port) && end === undefined) return new PortName(port, protocol);
  if (isPort(port) && (end === undefined || (isPort(end) && end >= port)))
    return new PortRange(protocol, port, end ?? port);
  if (end !== undefined) return unusable('an endPort needs a port that is a number and not above it');
  return unusable(typeof port === 'string' ? 'a port in quotes is no number' : 'a port is no port');
}

function peerClause(peer: Json, namespace: string): Clause {
  const fields = fieldsOf(peer);
  const strange = strangeClause('a peer', peer, peerFields);
  if (strange !== undefined) return strange;
  if (fields.length === 0) return unusable('a peer has no field');
  if (fields.includes('ipBlock')) {
    return fields.length > 1 ? unusable('a peer has ipBlock and selectors') : blockClause(at(peer, 'ipBlock'));
  }
  const pods = selectorAt(peer, 'podSelector');
  if (!fields.includes('namespaceSelector')) return new PodPeer(namespace, pods);
  return new PodPeer(selectorAt(peer, 'namespaceSelector'), pods);
}

function blockClause(block: Json): Clause {
  const strange = strangeClause('an ipBlock', block, peerFields.ipBlock);
  if (strange !== undefined) return strange;
  const [cidr, except] = [at(block, 'cidr'), list(at(block, 'except'))];
  const networks = readNetworks([cidr]);
  const excepted = readNetworks(except);
  if (typeof networks === 'string' || typeof excepted === 'string') return unusable('an ipBlock is no CIDR');
  return new BlockPeer(networks, excepted, `ipBlock ${shown(cidr)}${exceptText(excepted)}`);
}
