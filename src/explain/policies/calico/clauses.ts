/** Evaluates the conditions of Calico's rules on the ends of a connection and on the connection itself (felix/rules/policy.go). */
import { LRUCache } from 'lru-cache';
import type { NamedObject } from '../../../base/model/readers.ts';
import { anyNamespace, type Clause, clauseOf, type Needs } from '../policy.ts';
import { contains, type Network, type Range } from '../clauses/networks.ts';
import { portText, unknownPort } from '../clauses/ports.ts';
import { anyOf, type MatchResult, not, Unknown } from '../model.ts';
import { type ConnectionSide, endName, type Probe } from '../probe.ts';
import type { LabelledEndpoint } from '../clauses/labels.ts';
import { aboutLabels, isOfAccount, labelText, namespaceLabel, selectsEndpoint } from './endpoint.ts';
import { labelsIn, type Selector, matchesSelector } from './selector.ts';
import { selectorWords } from './selector-words.ts';
import type { ClauseWords } from '../words.ts';

/** The most labels of an end that a clause shows. */
const mostLabels = 5;

/** Matches if one of the Pods and network sets with this address matches. */
export class EndpointClause implements Clause {
  readonly #side: ConnectionSide;
  readonly #selector: Selector;
  readonly #text: string;

  constructor(side: ConnectionSide, selector: Selector, text: string) {
    this.#side = side;
    this.#selector = selector;
    this.#text = text;
  }

  matches(probe: Probe): MatchResult {
    const { pod, sets, more } = probe.side(this.#side);
    const ofPod = pod !== undefined && matchesSelector(this.#selector, pod.labelOf);
    if (ofPod === true) return true;
    const match = anyOf([ofPod, sets.match(this.#selector)], (each) => each);
    return match === false ? more : match;
  }

  requires(into: Needs): void {
    requireLabels(this.#selector, into);
    for (const namespace of namespacesOf(this.#selector) ?? [anyNamespace]) into.networkSets.add(namespace);
  }

  wants(): string {
    return this.#text;
  }

  has(probe: Probe): string {
    const endpoint = this.#shown(probe);
    if (endpoint === undefined) return `is ${endName(probe.flow[this.#side])}, which no selector of Calico selects`;
    const own = this.#labels().map((label) => labelText(endpoint, label));
    return own.length === 0 ? `is ${endpoint.name}` : own.join(', ');
  }

  words(probe: Probe): ClauseWords | undefined {
    // `about` names the objects of the labels that `has` shows, which are all of a selector that is not long.
    const isLong = labelsIn(this.#selector).length > mostLabels;
    return isLong ? undefined : selectorWords(this.#selector, this.#shown(probe), this.has(probe));
  }

  about(probe: Probe): readonly NamedObject[] {
    const endpoint = this.#shown(probe);
    return endpoint === undefined ? [] : aboutLabels(endpoint, this.#labels());
  }

  #shown(probe: Probe): LabelledEndpoint | undefined {
    const { pod, sets } = probe.side(this.#side);
    return pod ?? sets.first;
  }

  #labels(): readonly string[] {
    return labelsIn(this.#selector).slice(0, mostLabels);
  }
}

export class NotClause implements Clause {
  readonly #clauses: readonly Clause[];

  constructor(clauses: readonly Clause[]) {
    this.#clauses = clauses;
  }

  matches(probe: Probe): MatchResult {
    return not(anyOf(this.#clauses, (clause) => clause.matches(probe)));
  }

  requires(into: Needs): void {
    for (const clause of this.#clauses) clause.requires?.(into);
  }

  wants(): string {
    return `not ${this.#clauses.map((clause) => clause.wants()).join(', ')}`;
  }

  has(probe: Probe): string {
    return this.#matching(probe)?.has(probe) ?? '';
  }

  about(probe: Probe): readonly NamedObject[] {
    return this.#matching(probe)?.about?.(probe) ?? [];
  }

  #matching(probe: Probe): Clause | undefined {
    return this.#clauses.find((clause) => clause.matches(probe) === true);
  }
}

export class NetClause implements Clause {
  readonly #side: ConnectionSide;
  readonly #range: Range;
  readonly #text: string;

  constructor(side: ConnectionSide, { range, text }: Network) {
    this.#side = side;
    this.#range = range;
    this.#text = text;
  }

  matches(probe: Probe): MatchResult {
    const { address } = probe.side(this.#side);
    if (address !== undefined) return contains(this.#range, address);
    if (probe.family !== undefined && familyOf(this.#range) !== probe.family) return false;
    return new Unknown(`address of ${endName(probe.flow[this.#side])}`);
  }

  wants(): string {
    return this.#text;
  }

  has({ flow }: Probe): string {
    return `is ${flow[this.#side].address ?? endName(flow[this.#side])}`;
  }
}

/** Matches an address in none of `notNets`. If all of them are of the other family, Calico leaves the rule out (FilterRuleToIPVersion). */
export class NotNetsClause implements Clause {
  readonly #ranges: readonly Range[];
  readonly #not: NotClause;

  constructor(side: ConnectionSide, networks: readonly Network[]) {
    this.#ranges = networks.map(({ range }) => range);
    this.#not = new NotClause(networks.map((network) => new NetClause(side, network)));
  }

  matches(probe: Probe): MatchResult {
    const { family } = probe;
    if (family === undefined) return unknownFamily;
    return this.#ranges.some((range) => familyOf(range) === family) && this.#not.matches(probe);
  }

  wants(): string {
    return this.#not.wants();
  }

  has(probe: Probe): string {
    return this.#not.has(probe) || 'is of the other address family, for which such a rule is left out';
  }
}

const unknownFamily = new Unknown('the addresses');

function familyOf({ first }: Range): 4 | 6 {
  return typeof first === 'number' ? 4 : 6;
}

function actualText(probe: Probe): string {
  return `is ${portText(probe)}`;
}

/** Rules share one clause for each protocol. Anybody who writes policies may invent protocols, so the oldest are forgotten. */
const protocolClauses = new LRUCache<string, Clause>({ max: 64 });

export function protocolClause(protocol: string): Clause {
  let clause = protocolClauses.get(protocol);
  if (clause === undefined) {
    clause = clauseOf(protocol, (probe) => isProtocol(probe, protocol), actualText);
    protocolClauses.set(protocol, clause);
  }
  return clause;
}

function isProtocol(probe: Probe, protocol: string): MatchResult {
  const isOpen = probe.flow.protocol === 'ICMP' && probe.family === undefined && protocol.startsWith('ICMP');
  return isOpen ? unknownFamily : probe.flow.protocol === protocol;
}

export function familyClause(family: 4 | 6): Clause {
  return clauseOf(
    `IPv${family}`,
    (probe) => (probe.family === undefined ? unknownFamily : probe.family === family),
    (probe) => `is IPv${probe.family}`,
  );
}

/** Several ports may have the same name (felix/labelindex/named_port_index.go). */
export function namedPortClause(name: string, protocol: string, selector: Selector | undefined): Clause {
  const matches = (probe: Probe): MatchResult => {
    const { flow } = probe;
    if (flow.protocol !== protocol) return false;
    const { pod, more } = probe.side('destination');
    if (flow.destination.kind !== 'pod' || pod === undefined) return more;
    const { ports } = flow.destination.pod;
    if (ports === undefined) return new Unknown(`ports of ${pod.name}`);
    if (flow.port === undefined) return unknownPort;
    if (!ports.some((each) => each.name === name && each.protocol === protocol && each.port === flow.port))
      return false;
    // The address may also be in a selected network set, but a network set has no ports.
    return selector === undefined || selectsEndpoint(selector, pod);
  };
  return clauseOf(`${protocol} ${name}`, matches, actualText);
}

/** Makes a clause whose result is unknown, because `missing` is not in the probe. It does not match other protocols than `protocol`. */
export function unseenClause(text: string, missing: string, protocol?: (probe: Probe) => boolean): Clause {
  return clauseOf(text, (probe) => (protocol === undefined || protocol(probe)) && new Unknown(missing), actualText);
}

/** Matches endpoints of a Service: a destination by address and port, a source by address alone (felix/calc/rule_scanner.go). */
export function serviceClause(side: ConnectionSide, service: string): Clause {
  const matches = ({ flow, endpointsOf }: Probe): MatchResult => {
    const { address } = flow[side];
    const endpoints = endpointsOf(service);
    if (endpoints instanceof Unknown) return endpoints;
    if (address === undefined) return endpoints.size > 0 && new Unknown(`address of ${endName(flow[side])}`);
    const ports = endpoints.get(address);
    if (ports === undefined || side === 'source') return ports !== undefined;
    if (flow.port !== undefined) return ports.has(`${flow.protocol}/${flow.port}`);
    return [...ports].some((port) => port.startsWith(`${flow.protocol}/`)) && unknownPort;
  };
  const has = (probe: Probe): string => {
    const end = probe.flow[side];
    const endpoints = probe.endpointsOf(service);
    const isEndpoint = !(endpoints instanceof Unknown) && endpoints.has(end.address ?? '');
    return isEndpoint
      ? `is an endpoint, but not on ${portText(probe)}`
      : `is ${end.address ?? endName(end)}, not one of its endpoints`;
  };
  const about = (): NamedObject[] => [{ kind: 'Service', namespace: service.split('/', 1)[0] }];
  const requires = ({ services }: Needs): void => void services.add(service);
  return { ...clauseOf(`Service ${service}`, matches, has), about, requires };
}

/** Requires the labels of ServiceAccounts if the selector uses them, because a Pod has only the name of its account. */
export function requireLabels(selector: Selector, into: Needs): void {
  if (labelsIn(selector).some(isOfAccount)) into.accountLabels = true;
}

/** Undefined: all. Only the label of the Namespace decides where a selector can select network sets: a set can have any other label. */
function namespacesOf(selector: Selector): readonly string[] | undefined {
  switch (selector.kind) {
    case '==':
      return selector.label === namespaceLabel ? [selector.value] : undefined;
    case 'in':
      return selector.label === namespaceLabel ? selector.values : undefined;
    case 'not':
      return selector.operand.kind === 'has' && selector.operand.label === namespaceLabel ? [] : undefined;
    case 'and':
      return selector.operands.map(namespacesOf).find((each) => each !== undefined);
    default:
      return undefined;
  }
}
