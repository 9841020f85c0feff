/** Compiles NetworkPolicies (networking.k8s.io/v1, api/networking/v1/types.go), with or without the API server's defaults. */
import { at, type Json, list, shown } from '../../../base/platform/json.ts';
import { type Clause, type Policy, type Rule, unusable } from '../policy.ts';
import { parseIPv4, readNetworks } from '../clauses/networks.ts';
import { BlockPeer, exceptText, PackedBlocks, PodPeer } from '../clauses/peers.ts';
import { isPort, isPortProtocol, PortName, PortRange } from '../clauses/ports.ts';
import { networkPolicyOrder, networkPolicyTier, type PolicyDirection } from '../model.ts';
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

function rules(spec: Json, direction: PolicyDirection, field: 'from' | 'to', namespace: string): Rule[] | undefined {
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
      [field, peerClauses(list(at(each, field)), namespace)],
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
  return unusable(typeof port === 'string' ? 'a port in quotes is not a number' : 'a port is not valid');
}

/** Fewer ipBlocks are not packed. */
const leastPacked = 16;

function peerClauses(peers: readonly Json[], namespace: string): Clause[] {
  const clauses: Clause[] = [];
  let plain: (readonly [address: number, mask: number])[] = [];
  for (const [index, peer] of peers.entries()) {
    const block = plainBlock(peer);
    if (block === undefined) pack(index);
    if (block === undefined) clauses.push(peerClause(peer, namespace));
    else plain.push(block);
  }
  pack(peers.length);
  return clauses;

  function pack(end: number): void {
    if (plain.length >= leastPacked) clauses.push(new PackedBlocks(plain));
    else for (const peer of peers.slice(end - plain.length, end)) clauses.push(peerClause(peer, namespace));
    plain = [];
  }
}

/** Returns the range of an ipBlock of IPv4 that has no other field. */
function plainBlock(peer: Json): readonly [address: number, mask: number] | undefined {
  const block = onlyField(peer, 'ipBlock');
  const cidr = onlyField(block, 'cidr');
  if (typeof cidr !== 'string') return undefined;
  const slash = cidr.indexOf('/');
  const address = slash < 0 ? undefined : parseIPv4(cidr, slash);
  const bits = cidr.slice(slash + 1);
  return address === undefined || !/^(?:[12]?\d|3[0-2])$/.test(bits) ? undefined : [address, Number(bits)];
}

function onlyField(value: Json, field: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  for (const key in value) if (key !== field) return undefined;
  return at(value, field);
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
  if (typeof networks === 'string' || typeof excepted === 'string') return unusable('an ipBlock is not a CIDR');
  return new BlockPeer(networks, excepted, `ipBlock ${shown(cidr)}${exceptText(excepted)}`);
}
