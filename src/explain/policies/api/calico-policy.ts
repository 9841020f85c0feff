/** Compiles Calico's policies and their staged forms, from its API server (projectcalico.org/v3) or stored (crd.projectcalico.org/v1). */
import { at, type Json, list, shown, spelled, text } from '../../../base/platform/json.ts';
import { parseNet, readOrder, tierNameOf } from '../calico/objects.ts';
import { type Selector, matchesSelector } from '../calico/selector.ts';
import { type Action, type PolicyDirection, Unknown } from '../model.ts';
import {
  type Clause,
  type ClauseGroup,
  type Policy,
  type Rule,
  type StagedEffect,
  type Subject,
  unusable,
} from '../policy.ts';
import { entitySelector, subjectSelector } from './calico-selectors.ts';
import { calicoEntityFields, calicoPolicyFields, calicoRuleFields, isGiven, strangeField } from './fields.ts';
import { compileNetworkPolicy } from './network-policy.ts';
import { anyAction, changedOf, fieldsOf, readRules, refOf, strangeClause, unknownPolicy } from './read.ts';
import { isLabel } from '../../../base/platform/api-names.ts';
import { protocolName } from '../../../base/model/packet.ts';
import {
  EndpointClause,
  familyClause,
  namedPortClause,
  NetClause,
  NotClause,
  NotNetsClause,
  protocolClause,
  requireLabels,
  serviceClause,
  unseenClause,
} from '../calico/clauses.ts';
import { readNetworks } from '../clauses/networks.ts';
import { isPortProtocol, PortRange } from '../clauses/ports.ts';
import type { ConnectionSide } from '../probe.ts';

export function compileCalicoPolicy(object: Json): Policy {
  const { kind } = refOf(object);
  const namespace = kind.includes('Global') ? undefined : (text(at(object, 'metadata', 'namespace')) ?? 'default');
  const policy = kind === 'StagedKubernetesNetworkPolicy' ? compileNetworkPolicy(object) : compile(object, namespace);
  return kind.startsWith('Staged') ? { ...policy, staged: stagedOf(object) } : policy;
}

function stagedOf(object: Json): StagedEffect {
  const action = at(object, 'spec', 'stagedAction') ?? 'Set';
  if (action === 'Delete') return 'delete';
  return action === 'Set' ? 'set' : 'nothing';
}

function compile(object: Json, namespace: string | undefined): Policy {
  const ref = { ...refOf(object), namespace };
  const spec = at(object, 'spec');
  const tier = tierNameOf(text(at(spec, 'tier')) ?? 'default');
  const order = readOrder(at(spec, 'order'));
  if (order === undefined) return unknownPolicy(object, tier, 'its order is not a number');
  const strange = strangeField(spec, calicoPolicyFields);
  if (strange !== undefined) return unknownPolicy(object, tier, `it has the unknown field ${strange}`);
  const { selector, text: selected } = subjectSelector(spec, namespace);
  // Such policies apply before NAT and connection tracking, and never to Pods (felix/calc/event_sequencer.go).
  const isForPods = at(spec, 'preDNAT') !== true && at(spec, 'doNotTrack') !== true;
  const types = typesOf(spec, ref.apiVersion);
  const rules = (direction: PolicyDirection): Policy['rules'][PolicyDirection] =>
    isForPods && types.includes(direction)
      ? readRules(list(at(spec, direction)), direction, (each) => readCalicoRule(each, namespace))
      : undefined;
  return {
    ref,
    tier,
    order,
    subject: subjectOf(selector, selected),
    rules: { ingress: rules('ingress'), egress: rules('egress') },
    changed: changedOf(object),
  };
}

/** The API server derives missing types from the rules (api/pkg/defaults). A stored policy without types has both. */
function typesOf(spec: Json, apiVersion: string): PolicyDirection[] {
  const types = list(at(spec, 'types')).map((each) => shown(each).toLowerCase());
  const has = (direction: PolicyDirection): boolean => list(at(spec, direction)).length > 0;
  if (types.length > 0) return (['ingress', 'egress'] as const).filter((each) => types.includes(each));
  if (apiVersion.startsWith('crd.')) return ['ingress', 'egress'];
  if (!has('egress')) return ['ingress'];
  return has('ingress') ? ['ingress', 'egress'] : ['egress'];
}

function subjectOf(selector: Selector | Unknown, selected: string): Subject {
  if (selector instanceof Unknown) return { selects: () => selector, text: () => selected };
  return {
    selects: (_pod, _namespace, { labelOf }) => matchesSelector(selector, labelOf),
    requires: (into) => requireLabels(selector, into),
    text: () => selected,
  };
}

const actions: Readonly<Record<string, Action>> = { Allow: 'admit', Deny: 'deny', Pass: 'pass', Log: 'log' };

function readCalicoRule(given: Json, namespace: string | undefined): Rule[] {
  const named = shown(at(given, 'action'));
  const action = Object.hasOwn(actions, named) ? actions[named] : undefined;
  if (action === undefined) return anyAction('action', 'a rule has an unknown action');
  return [{ action, groups: groupsOf(given, namespace) }];
}

function groupsOf(given: Json, namespace: string | undefined): ClauseGroup[] {
  const strange =
    strangeClause('a rule', given, calicoRuleFields) ??
    strangeClause('a rule', at(given, 'source'), calicoEntityFields) ??
    strangeClause('a rule', at(given, 'destination'), calicoEntityFields);
  const protocol = protocolAt(given, 'protocol');
  const notProtocol = protocolAt(given, 'notProtocol');
  const groups = [
    single('rule', strange),
    single('ipVersion', ipVersionClause(at(given, 'ipVersion'))),
    single('protocol', protocol && (protocol.clause ?? protocolClause(protocol.name))),
    single('notProtocol', notProtocol && (notProtocol.clause ?? new NotClause([protocolClause(notProtocol.name)]))),
    single('icmp', icmpClause(at(given, 'icmp'), '')),
    single('notICMP', icmpClause(at(given, 'notICMP'), 'not ')),
    ...entityGroups(at(given, 'source'), 'source', protocol?.name, namespace),
    ...entityGroups(at(given, 'destination'), 'destination', protocol?.name, namespace),
    single('http', isGiven(at(given, 'http')) ? unseenClause('an HTTP request', 'the HTTP request') : undefined),
  ];
  return groups.filter((group) => group !== undefined);
}

function single(field: string, clause: Clause | undefined): ClauseGroup | undefined {
  return clause === undefined ? undefined : { field, alternatives: [clause], single: true };
}

function ipVersionClause(version: Json): Clause | undefined {
  if (!isGiven(version)) return undefined;
  return version === 4 || version === 6 ? familyClause(version) : unusable('a rule has an unknown ipVersion');
}

/** `clause` replaces a protocol that is unknown. */
function protocolAt(given: Json, field: string): { name: string; clause?: Clause } | undefined {
  const value = at(given, field);
  if (!isGiven(value)) return undefined;
  const written = typeof value === 'number' ? String(value) : (text(value) ?? '');
  const upper = written.toUpperCase();
  const name = protocolName(upper === 'ICMPV6' ? 'ICMPv6' : upper);
  return name === undefined ? { name: '', clause: unusable('a rule has an unknown protocol') } : { name };
}

/** The verdict stays unknown, because a connection is given without the type and code of ICMP. */
function icmpClause(value: Json, not: string): Clause | undefined {
  if (fieldsOf(value).length === 0) return undefined;
  const part = (name: string): string => `${name} ${JSON.stringify(at(value, name)) ?? 'any'}`;
  return unseenClause(`${not}${part('type')}, ${part('code')}`, 'type and code of the ICMP packet', ({ flow }) =>
    flow.protocol.startsWith('ICMP'),
  );
}

function entityGroups(
  entity: Json,
  side: ConnectionSide,
  protocol: string | undefined,
  namespace: string | undefined,
): (ClauseGroup | undefined)[] {
  const field = (name: string): string => `${side}.${name}`;
  const { selector, notSelector, text: wants } = entitySelector(entity, namespace);
  const positive = selector instanceof Unknown ? undefined : selector;
  const ports = portClauses(at(entity, 'ports'), side, protocol, positive);
  const notPorts = portClauses(at(entity, 'notPorts'), side, protocol, positive);
  return [
    netGroup(entity, side),
    single(field('notNets'), notNetsClause(at(entity, 'notNets'), side)),
    single(field('selector'), selectorClause(selector, side, wants)),
    single(field('notSelector'), notSelectorClause(notSelector, side, shown(at(entity, 'notSelector')))),
    single(field('services'), servicesClause(at(entity, 'services'), side, namespace)),
    ports.length === 0 ? undefined : { field: field('ports'), alternatives: ports },
    single(field('notPorts'), notPorts.length === 0 ? undefined : new NotClause(notPorts)),
  ];
}

function selectorClause(
  selector: Selector | Unknown | undefined,
  side: ConnectionSide,
  wants: string,
): Clause | undefined {
  if (selector === undefined) return undefined;
  return selector instanceof Unknown ? unusable(selector.missing) : new EndpointClause(side, selector, wants);
}

function notSelectorClause(
  selector: Selector | Unknown | undefined,
  side: ConnectionSide,
  wants: string,
): Clause | undefined {
  const clause = selectorClause(selector, side, wants);
  return clause instanceof EndpointClause ? new NotClause([clause]) : clause;
}

function netGroup(entity: Json, side: ConnectionSide): ClauseGroup | undefined {
  const nets = readNetworks(list(at(entity, 'nets')), parseNet);
  if (typeof nets === 'string')
    return { field: `${side}.nets`, alternatives: [unusable('one of nets is not a network')] };
  return nets.length === 0
    ? undefined
    : { field: `${side}.nets`, alternatives: nets.map((net) => new NetClause(side, net)) };
}

function notNetsClause(value: Json, side: ConnectionSide): Clause | undefined {
  const nets = readNetworks(list(value), parseNet);
  if (typeof nets === 'string') return unusable('one of notNets is not a network');
  return nets.length === 0 ? undefined : new NotNetsClause(side, nets);
}

function servicesClause(value: Json, side: ConnectionSide, namespace: string | undefined): Clause | undefined {
  if (!isGiven(value)) return undefined;
  const strange = strangeClause('services of a rule', value, calicoEntityFields.services);
  if (strange !== undefined) return strange;
  const within = spelled(text(at(value, 'namespace')) || namespace, isLabel);
  const name = spelled(at(value, 'name'), isLabel);
  if (within === undefined || name === undefined) return unusable('services of a rule names no Service');
  return serviceClause(side, `${within}/${name}`);
}

function portClauses(
  value: Json,
  side: ConnectionSide,
  protocol: string | undefined,
  selector: Selector | undefined,
): Clause[] {
  return list(value).map((each) => {
    const written = typeof each === 'number' ? String(each) : (text(each) ?? '');
    if (!isPortProtocol(protocol)) return unusable('a rule has ports, but no protocol with ports');
    if (side === 'source') return unseenClause(`${protocol} ${written}`, 'the port of the source');
    const [, first, last = first] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(written) ?? [];
    if (first === undefined)
      return /^[a-zA-Z0-9_.-]{1,128}$/.test(written)
        ? namedPortClause(written, protocol, selector)
        : unusable('a port is not valid');
    const isRange = Number(first) <= Number(last) && Number(last) <= 65_535;
    return isRange ? new PortRange(protocol, Number(first), Number(last)) : unusable('a port is not valid');
  });
}
