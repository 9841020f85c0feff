/** networking.k8s.io/v1 NetworkPolicy (api/networking/v1/types.go), as a client gets it, without the API server's defaults too. */
import { at, type Json, list, shown } from '../../platform/json.ts';
import { type Clause, unusable } from '../clauses/clause.ts';
import { parseRange, type Range } from '../clauses/networks.ts';
import { BlockPeer, PodPeer } from '../clauses/peers.ts';
import { isPortProtocol, PortName, PortRange } from '../clauses/ports.ts';
import type { Direction } from '../model.ts';
import type { Policy, Rule } from '../policy.ts';
import { networkPolicyOrder, networkPolicyTier } from '../tiers.ts';
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
    subject: new LabelSubject(namespace, selectorAt(spec, 'podSelector')),
    rules: { ingress: rules(spec, 'ingress', 'from', namespace), egress: rules(spec, 'egress', 'to', namespace) },
    changed: changedOf(object),
  };
}

function rules(spec: Json, direction: Direction, field: 'from' | 'to', namespace: string): Rule[] | undefined {
  const given = list(at(spec, direction));
  const types = list(at(spec, 'policyTypes'));
  const name = direction === 'ingress' ? 'Ingress' : 'Egress';
  // pkg/apis/networking/v1/defaults.go: ingress always, egress only where there are rules for it.
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
  // A text is a name, and no name consists of digits only: the API server refuses a number in quotes.
  if (typeof port === 'string' && /[a-z]/.test(port) && end === undefined) return new PortName(port, protocol);
  if (!isPort(port) || (end !== undefined && !(isPort(end) && end >= port))) return unusable('a port is no port');
  return new PortRange(protocol, port, end ?? port);
}

export function isPort(value: Json): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
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
  return new PodPeer({ selector: selectorAt(peer, 'namespaceSelector') }, pods);
}

function blockClause(block: Json): Clause {
  const strange = strangeClause('an ipBlock', block, peerFields.ipBlock);
  if (strange !== undefined) return strange;
  const [cidr, except] = [at(block, 'cidr'), list(at(block, 'except'))];
  const ranges = readRanges([cidr]);
  const excepted = readRanges(except);
  if (typeof ranges === 'string' || typeof excepted === 'string') return unusable('an ipBlock is no CIDR');
  const parts = excepted.map((range, index) => ({ range, text: shown(except[index]) }));
  const but = except.length === 0 ? '' : ` except ${except.map(shown).join(', ')}`;
  return new BlockPeer(ranges, parts, `ipBlock ${shown(cidr)}${but}`);
}

/** The text that is no range, where one is none. */
export function readRanges(cidrs: readonly Json[]): Range[] | string {
  const ranges: Range[] = [];
  for (const cidr of cidrs) {
    const range = typeof cidr === 'string' ? parseRange(cidr) : undefined;
    if (range === undefined) return shown(cidr);
    ranges.push(range);
  }
  return ranges;
}
