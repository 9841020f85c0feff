/** Rules of Calico's policies (api/pkg/apis/projectcalico/v3/policy_common.go). What is not known here makes a rule one that may match. */
import { isLabel } from '../../platform/api-names.ts';
import { at, type Json, list, shown, spelled, text } from '../../platform/json.ts';
import { protocolName } from '../../model/packet.ts';
import {
  EndpointClause,
  familyClause,
  namedPortClause,
  NetClause,
  NotClause,
  NotNetsClause,
  protocolClause,
  protocolOf,
  ServiceClause,
  unseenClause,
} from '../calico/clauses.ts';
import { parseNet } from '../calico/objects.ts';
import type { Selector } from '../calico/selector.ts';
import { type Clause, unusable } from '../clauses/clause.ts';
import type { Range } from '../clauses/networks.ts';
import { isPortProtocol, PortRange } from '../clauses/ports.ts';
import type { Action } from '../model.ts';
import type { ClauseGroup, Rule } from '../policy.ts';
import type { Probe, Side } from '../probe.ts';
import { entitySelector } from './calico-selectors.ts';
import { calicoEntityFields, calicoRuleFields } from './fields.ts';
import { anyAction, fieldsOf, strangeClause } from './read.ts';

const actions: Readonly<Record<string, Action>> = { Allow: 'admit', Deny: 'deny', Pass: 'pass', Log: 'log' };

/** `namespace` of the policy; undefined: global. */
export function readCalicoRule(given: Json, namespace: string | undefined): Rule[] {
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
    single('http', isSet(at(given, 'http')) ? unseenClause('an HTTP request', 'the HTTP request') : undefined),
  ];
  return groups.filter((group) => group !== undefined);
}

function single(field: string, clause: Clause | undefined): ClauseGroup | undefined {
  return clause === undefined ? undefined : { field, alternatives: [clause], single: true };
}

function isSet(value: Json): boolean {
  return value !== undefined && value !== null;
}

function ipVersionClause(version: Json): Clause | undefined {
  if (!isSet(version)) return undefined;
  return version === 4 || version === 6 ? familyClause(version) : unusable('a rule has an unknown ipVersion');
}

/** `clause`: it is of no known protocol. */
function protocolAt(given: Json, field: string): { name: string; clause?: Clause } | undefined {
  const value = at(given, field);
  if (!isSet(value)) return undefined;
  const written = typeof value === 'number' ? String(value) : (text(value) ?? '');
  const upper = written.toUpperCase();
  const name = protocolName(upper === 'ICMPV6' ? 'ICMPv6' : upper);
  return name === undefined ? { name: '', clause: unusable('a rule has an unknown protocol') } : { name };
}

function isIcmp(probe: Probe): boolean {
  return protocolOf(probe).startsWith('ICMP');
}

/** Type and code of ICMP are not part of what is asked. */
function icmpClause(value: Json, not: string): Clause | undefined {
  if (fieldsOf(value).length === 0) return undefined;
  const part = (name: string): string => `${name} ${JSON.stringify(at(value, name)) ?? 'any'}`;
  return unseenClause(`${not}${part('type')}, ${part('code')}`, 'type and code of the ICMP packet', isIcmp);
}

function entityGroups(
  entity: Json,
  side: Side,
  protocol: string | undefined,
  namespace: string | undefined,
): (ClauseGroup | undefined)[] {
  const field = (name: string): string => `${side}.${name}`;
  const { selector, notSelector, text: wants } = entitySelector(entity, namespace);
  const positive = typeof selector === 'object' ? selector : undefined;
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

function selectorClause(selector: Selector | string | undefined, side: Side, wants: string): Clause | undefined {
  if (selector === undefined) return undefined;
  return typeof selector === 'string' ? unusable(selector) : new EndpointClause(side, selector, wants);
}

function notSelectorClause(selector: Selector | string | undefined, side: Side, wants: string): Clause | undefined {
  const clause = selectorClause(selector, side, wants);
  return clause instanceof EndpointClause ? new NotClause([clause]) : clause;
}

/** Undefined if one of them is no network. */
function netsOf(value: Json): { range: Range; text: string }[] | undefined {
  const nets = list(value).map((each) => ({ range: parseNet(each), text: shown(each) }));
  return nets.every((each): each is { range: Range; text: string } => each.range !== undefined) ? nets : undefined;
}

function netGroup(entity: Json, side: Side): ClauseGroup | undefined {
  const nets = netsOf(at(entity, 'nets'));
  const alternatives = nets?.map(({ range, text: net }) => new NetClause(side, range, net)) ?? [
    unusable('one of nets is no network'),
  ];
  return alternatives.length === 0 ? undefined : { field: `${side}.nets`, alternatives };
}

function notNetsClause(value: Json, side: Side): Clause | undefined {
  const nets = netsOf(value);
  if (nets === undefined) return unusable('one of notNets is no network');
  return nets.length === 0 ? undefined : new NotNetsClause(side, nets);
}

/** Uses the Namespace of the policy if it names no other. */
function servicesClause(value: Json, side: Side, namespace: string | undefined): Clause | undefined {
  if (!isSet(value)) return undefined;
  const strange = strangeClause('services of a rule', value, calicoEntityFields.services);
  if (strange !== undefined) return strange;
  const within = spelled(text(at(value, 'namespace')) || namespace, isLabel);
  const name = spelled(at(value, 'name'), isLabel);
  if (within === undefined || name === undefined) return unusable('services of a rule names no Service');
  return new ServiceClause(side, `${within}/${name}`);
}

function portClauses(value: Json, side: Side, protocol: string | undefined, selector: Selector | undefined): Clause[] {
  return list(value).map((each) => {
    const written = typeof each === 'number' ? String(each) : (text(each) ?? '');
    if (!isPortProtocol(protocol)) return unusable('a rule has ports, but no protocol with ports');
    if (side === 'source') return unseenClause(`${protocol} ${written}`, 'the port of the source');
    const [, first, last = first] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(written) ?? [];
    if (first === undefined)
      return /^[a-zA-Z0-9_.-]{1,128}$/.test(written)
        ? namedPortClause(written, protocol, selector)
        : unusable('a port is no port');
    const isRange = Number(first) <= Number(last) && Number(last) <= 65_535;
    return isRange ? new PortRange(protocol, Number(first), Number(last)) : unusable('a port is no port');
  });
}
