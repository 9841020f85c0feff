/** Evaluates what rules of Calico want of the ends of a connection, and of the connection itself (felix/rules/policy.go). */
import type { Clause } from '../clauses/clause.ts';
import { contains, type Range } from '../clauses/networks.ts';
import { portText } from '../clauses/ports.ts';
import type { Match } from '../model.ts';
import { endName, type Probe, type Side } from '../probe.ts';
import type { RequirementCollector } from '../requirements.ts';
import { labelText, namespacesOf, requireLabels } from './endpoint.ts';
import { labelsIn, type Selector, selects } from './selector.ts';
import { anyOf, not } from '../match.ts';

/** Pods and sets of networks by labels: one of those that have the address must match. */
export class EndpointClause implements Clause {
  readonly #side: Side;
  readonly #selector: Selector;
  readonly #text: string;

  constructor(side: Side, selector: Selector, text: string) {
    this.#side = side;
    this.#selector = selector;
    this.#text = text;
  }

  matches(probe: Probe): Match {
    const { pod, others, missing } = probe.side(this.#side);
    const match = anyOf(pod === undefined ? others : [pod, ...others], ({ labelOf }) =>
      selects(this.#selector, labelOf),
    );
    return match === false ? (missing ?? false) : match;
  }

  requires(into: RequirementCollector): void {
    requireLabels(this.#selector, into);
    into.networkSets(namespacesOf(this.#selector));
  }

  wants(): string {
    return this.#text;
  }

  has(probe: Probe): string {
    const { pod, others } = probe.side(this.#side);
    const [endpoint] = pod === undefined ? others : [pod];
    if (endpoint === undefined) return `is ${endName(probe.flow[this.#side])}, which no selector of Calico selects`;
    const own = labelsIn(this.#selector)
      .slice(0, 5)
      .map((label) => labelText(endpoint, label));
    return own.length === 0 ? `is ${endpoint.name}` : own.join(', ');
  }
}

/** `notSelector`, `notPorts`, …: what the others do not match. */
export class NotClause implements Clause {
  readonly #clauses: readonly Clause[];

  constructor(clauses: readonly Clause[]) {
    this.#clauses = clauses;
  }

  matches(probe: Probe): Match {
    return not(anyOf(this.#clauses, (clause) => clause.matches(probe)));
  }

  requires(into: RequirementCollector): void {
    for (const clause of this.#clauses) clause.requires?.(into);
  }

  wants(): string {
    return `not ${this.#clauses.map((clause) => clause.wants()).join(', ')}`;
  }

  has(probe: Probe): string {
    return this.#clauses.find((clause) => clause.matches(probe) === true)?.has(probe) ?? '';
  }
}

/** One of `nets`. */
export class NetClause implements Clause {
  readonly #side: Side;
  readonly #range: Range;
  readonly #text: string;

  constructor(side: Side, range: Range, text: string) {
    this.#side = side;
    this.#range = range;
    this.#text = text;
  }

  matches(probe: Probe): Match {
    const { address } = probe.side(this.#side);
    if (address !== undefined) return contains(this.#range, address);
    return probe.family === undefined || familyOf(this.#range) === probe.family
      ? `address of ${endName(probe.flow[this.#side])}`
      : false;
  }

  wants(): string {
    return this.#text;
  }

  has({ flow }: Probe): string {
    return `is ${flow[this.#side].address ?? endName(flow[this.#side])}`;
  }
}

/** All of `notNets`. A rule that has only networks of the other family there is left out (FilterRuleToIPVersion). */
export class NotNetsClause implements Clause {
  readonly #ranges: readonly Range[];
  readonly #not: NotClause;

  constructor(side: Side, ranges: readonly { range: Range; text: string }[]) {
    this.#ranges = ranges.map(({ range }) => range);
    this.#not = new NotClause(ranges.map(({ range, text }) => new NetClause(side, range, text)));
  }

  matches(probe: Probe): Match {
    const { family } = probe;
    if (family === undefined) return 'the addresses';
    return this.#ranges.some((range) => familyOf(range) === family) && this.#not.matches(probe);
  }

  wants(): string {
    return this.#not.wants();
  }

  has(probe: Probe): string {
    return this.#not.has(probe) || 'is of the other address family, for which such a rule is left out';
  }
}

function familyOf({ first }: Range): 4 | 6 {
  return typeof first === 'number' ? 4 : 6;
}

/** A comparison of the connection with one value. */
class FlowClause implements Clause {
  readonly matches: (probe: Probe) => Match;
  readonly has: (probe: Probe) => string;
  readonly #text: string;

  constructor(text: string, matches: (probe: Probe) => Match, has: (probe: Probe) => string = isText) {
    this.matches = matches;
    this.has = has;
    this.#text = text;
  }

  wants(): string {
    return this.#text;
  }
}

function isText(probe: Probe): string {
  return `is ${portText(probe)}`;
}

export function protocolClause(protocol: string): Clause {
  return new FlowClause(protocol, (probe) => {
    const isOpen = probe.flow.protocol === 'ICMP' && probe.family === undefined && protocol.startsWith('ICMP');
    return isOpen ? 'the addresses' : protocolOf(probe) === protocol;
  });
}

/** `--port ICMP` is either of the two. */
export function protocolOf({ flow: { protocol }, family }: Probe): string {
  return protocol === 'ICMP' && family === 6 ? 'ICMPv6' : protocol;
}

export function familyClause(family: 4 | 6): Clause {
  return new FlowClause(
    `IPv${family}`,
    (probe) => (probe.family === undefined ? 'the addresses' : probe.family === family),
    (probe) => `is IPv${probe.family}`,
  );
}

/** A named port is one of the Pod at the destination, of all that have the name (felix/labelindex/named_port_index.go). */
export function namedPortClause(name: string, protocol: string, selector: Selector | undefined): Clause {
  return new FlowClause(`${protocol} ${name}`, (probe) => {
    const { flow } = probe;
    if (flow.protocol !== protocol) return false;
    const { pod, missing } = probe.side('destination');
    if (flow.destination.kind !== 'pod' || pod === undefined) return missing ?? false;
    const { ports } = flow.destination.pod;
    if (ports === undefined) return `ports of ${pod.name}`;
    if (flow.port === undefined) return 'the port: the packet shows none';
    if (!ports.some((each) => each.name === name && each.protocol === protocol && each.port === flow.port))
      return false;
    // The address may also be in a set of networks that the rule selects; a set has no ports.
    return selector === undefined || selects(selector, pod.labelOf);
  });
}

/** Clauses about what neither the logged packet nor the question shows. */
export function unseenClause(text: string, missing: string, protocol?: (probe: Probe) => boolean): Clause {
  return new FlowClause(text, (probe) => (protocol === undefined || protocol(probe) ? missing : false));
}

/** Endpoints of a Service of Kubernetes: by address and port where they are the destination, else by address (felix/calc/rule_scanner.go). */
export class ServiceClause implements Clause {
  readonly #side: Side;
  readonly #service: string;

  constructor(side: Side, service: string) {
    this.#side = side;
    this.#service = service;
  }

  matches({ flow, endpointsOf }: Probe): Match {
    const { address } = flow[this.#side];
    const endpoints = endpointsOf(this.#service);
    if (typeof endpoints === 'string') return endpoints;
    if (address === undefined) return endpoints.size > 0 && `address of ${endName(flow[this.#side])}`;
    const ports = endpoints.get(address);
    if (ports === undefined || this.#side === 'source') return ports !== undefined;
    if (flow.port !== undefined) return ports.has(`${flow.protocol}/${flow.port}`);
    return [...ports].some((port) => port.startsWith(`${flow.protocol}/`)) && 'the port: the packet shows none';
  }

  requires(into: RequirementCollector): void {
    into.service(this.#service);
  }

  wants(): string {
    return `Service ${this.#service}`;
  }

  has(probe: Probe): string {
    const end = probe.flow[this.#side];
    const endpoints = probe.endpointsOf(this.#service);
    const isEndpoint = typeof endpoints === 'object' && endpoints.has(end.address ?? '');
    return isEndpoint
      ? `is an endpoint, but not on ${portText(probe)}`
      : `is ${end.address ?? endName(end)}, no endpoint of it`;
  }
}
