import type { NamedObject } from '../../../base/model/readers.ts';
import { type MatchResult, type NamedPort, type PolicyFlow, type PolicyPod, Unknown } from '../model.ts';
import { podName, type Probe, selectablePod } from '../probe.ts';
import type { Clause } from '../policy.ts';
import type { ClauseWords } from '../words.ts';

export function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
}

export function isPortProtocol(protocol: unknown): protocol is 'TCP' | 'UDP' | 'SCTP' {
  return protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP';
}

export class PortRange implements Clause {
  readonly #protocol: string;
  readonly #first: number;
  readonly #last: number;

  constructor(protocol: string, first = 0, last = 65_535) {
    this.#protocol = protocol;
    this.#first = first;
    this.#last = last;
  }

  matches({ flow: { protocol, port } }: Probe): MatchResult {
    if (protocol !== this.#protocol) return false;
    if (this.#first === 0 && this.#last === 65_535) return true;
    if (port === undefined) return unknownPort;
    return port >= this.#first && port <= this.#last;
  }

  wants(): string {
    if (this.#first === 0 && this.#last === 65_535) return this.#protocol;
    return `${this.#protocol} ${this.#first}${this.#last === this.#first ? '' : `-${this.#last}`}`;
  }

  has(probe: Probe): string {
    return `is ${portText(probe)}`;
  }

  words(probe: Probe): ClauseWords {
    const [protocol, ...ports] = this.wants().split(' ');
    return { allows: [...ports, protocol].join('/'), is: this.has(probe) };
  }
}

export class PortName implements Clause {
  readonly name: string;
  readonly #protocol: string | undefined;

  constructor(name: string, protocol: string | undefined) {
    this.name = name;
    this.#protocol = protocol;
  }

  matches({ flow: { destination, protocol, port } }: Probe): MatchResult {
    if (!isPortProtocol(protocol) || (this.#protocol !== undefined && protocol !== this.#protocol)) return false;
    const pod = selectablePod(destination);
    if (!pod || pod instanceof Unknown) return pod;
    if (pod.ports === undefined) return new Unknown(`ports of Pod ${podName(pod)}`);
    const named = this.#named(pod.ports, protocol);
    if (named.length === 0) return false;
    if (port === undefined) return unknownPort;
    if (named[0]?.port === port) return true;
    // If several ports have the name, enforcers differ in which of them they use.
    const isOther = named.some((each) => each.port === port);
    return isOther && new Unknown(`which port is meant: Pod ${podName(pod)} has several of the name ${this.name}`);
  }

  wants(): string {
    return `${this.#protocol === undefined ? '' : `${this.#protocol} `}${this.name}`;
  }

  words(probe: Probe): ClauseWords {
    return { allows: `${this.name}${this.#protocol === undefined ? '' : `/${this.#protocol}`}`, is: this.has(probe) };
  }

  has(probe: Probe): string {
    const { protocol, destination } = probe.flow;
    if (!isPortProtocol(protocol) || (this.#protocol !== undefined && protocol !== this.#protocol))
      return `is ${portText(probe)}`;
    const pod = selectablePod(destination);
    if (!pod || pod instanceof Unknown) return `is ${portText(probe)}, and the destination is not a Pod`;
    const named = this.#named(pod.ports ?? [], protocol);
    if (named.length === 0) {
      // Events must not reveal port names of other Namespaces.
      const own = pod === probe.pod ? portNamesOf(pod, probe.flow) : [];
      const instead = own.length === 0 ? '' : `: its ${probe.flow.port} is ${own.join(' or ')}`;
      return `is ${portText(probe)}, and the destination has no ${protocol} port of that name${instead}`;
    }
    return `is ${portText(probe)}, and the name is of port ${named.map(({ port }) => port).join(' or ')}`;
  }

  /** The number of a named port reveals as much about another Pod as its labels do. */
  about({ flow, pod }: Probe): readonly NamedObject[] {
    const destination = selectablePod(flow.destination);
    if (!destination || destination instanceof Unknown || destination === pod) return [];
    return [{ kind: 'Pod', namespace: destination.namespace }];
  }

  #named(ports: readonly NamedPort[], protocol: string): NamedPort[] {
    return ports.filter((each) => each.name === this.name && each.protocol === protocol);
  }
}

export function portNamesOf({ ports = [] }: PolicyPod, { protocol, port }: PolicyFlow): string[] {
  return ports.filter((each) => each.port === port && each.protocol === protocol).map(({ name }) => name);
}

export const unknownPort = new Unknown('the port: the packet shows none');

export function portText({ flow: { protocol, port } }: Pick<Probe, 'flow'>): string {
  return port === undefined ? protocol : `${port}/${protocol}`;
}
