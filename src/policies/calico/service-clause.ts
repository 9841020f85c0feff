import type { Clause } from '../clauses/clause.ts';
import { portText } from '../clauses/ports.ts';
import type { Match } from '../model.ts';
import { endName, type Probe, type Side } from '../probe.ts';
import type { RequirementCollector } from '../requirements.ts';

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
