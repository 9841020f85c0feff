import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { ChainOwner, ServiceChains } from '../../model/service-chain.ts';
import type { EndpointSlice, Service, ServicePort, ServiceProtocol } from '../objects.ts';
import { type ChainPort, hashedTexts, hostPort, parseChainName } from './chain-name.ts';
import { backendsIn, unpackEndpoints } from './endpoints.ts';
import { createHashFinder } from './hash-finder.ts';
import { createTombstones, type TombstoneLimits, type Tombstones } from './tombstones.ts';

/** What a chain was made for. */
export interface OwnedChain extends ChainOwner {
  protocol: ServiceProtocol;
  /** `10.244.1.30:5432`, for an endpoint's chain. */
  endpoint: string | undefined;
}

/** Finds the Service, the port and the endpoint that one of kube-proxy's chains belongs to, and who is behind a Service. */
export interface ChainIndex extends ServiceChains {
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, Service>;
  setService: (service: Service, now: Millis) => void;
  removeService: (namespace: string, name: string, now: Millis) => void;
  setSlice: (slice: EndpointSlice, now: Millis) => void;
  removeSlice: (namespace: string, name: string, now: Millis) => void;
  ownerOf: (chain: string) => OwnedChain | undefined;
  /** These chains are asked for next. */
  expect: (chains: readonly string[]) => void;
  /** Forgets tombstones that are too old. */
  sweep: (now: Millis) => void;
  readonly sizes: { slices: number; tombstones: number };
}

/** Each for ports and for endpoints. A chain may be named long after its Service is gone: that may be why it is missing. */
export const defaultChainLimits: TombstoneLimits = { age: 86_400_000, count: 4096 };

/** A port of a Service, as it is or as it was. */
interface PortOfService {
  service: Service;
  port: ServicePort;
}

export function createChainIndex(limits: TombstoneLimits = defaultChainLimits): ChainIndex {
  const services = new Map<string, Service>();
  const slices = new Map<string, EndpointSlice>();
  /** What is gone, by the texts that are hashed. */
  const pastPorts = createTombstones<PortOfService>(limits);
  const pastEndpoints = createTombstones<ChainPort>(limits);
  const ports = createHashFinder(function* () {
    for (const service of services.values()) yield* portTexts(service);
    yield* pastPorts.entries();
  });
  const endpoints = createHashFinder(function* () {
    for (const slice of slices.values()) yield* endpointTexts(slice);
    yield* pastEndpoints.entries();
  });

  return {
    services,
    get sizes() {
      return { slices: slices.size, tombstones: pastPorts.size + pastEndpoints.size };
    },
    setService: (service, now) => replaceService(keyOf(service.namespace, service.name), service, now),
    removeService: (namespace, name, now) => replaceService(keyOf(namespace, name), undefined, now),
    setSlice(slice, now) {
      // Made by hand, and for no Service: kube-proxy takes no notice of it.
      replaceSlice(keyOf(slice.namespace, slice.name), slice.service === '' ? undefined : slice, now);
    },
    removeSlice: (namespace, name, now) => replaceSlice(keyOf(namespace, name), undefined, now),
    ownerOf(chain) {
      const name = parseChainName(chain);
      if (name?.kind === 'service-hash') {
        const found = ports.find(name.hash);
        return found && ownerBy(found, undefined);
      }
      const port = name?.kind === 'endpoint-hash' ? endpoints.find(name.hash) : name;
      return port?.kind === 'service-port' ? ownerOfPort(port) : undefined;
    },
    expect(chains) {
      for (const name of chains.map(parseChainName)) {
        if (name?.kind === 'service-hash') ports.expect(name.hash);
        else if (name?.kind === 'endpoint-hash') endpoints.expect(name.hash);
      }
    },
    backendsOf: (namespace, name) =>
      backendsIn([...slices.values()].filter((slice) => slice.namespace === namespace && slice.service === name)),
    sweep(now) {
      pastPorts.sweep(now);
      pastEndpoints.sweep(now);
      ports.changed();
      endpoints.changed();
    },
  };

  function replaceService(key: string, after: Service | undefined, now: Millis): void {
    bury(portTexts(services.get(key)), portTexts(after), pastPorts, now);
    if (after === undefined) services.delete(key);
    else services.set(key, after);
    ports.changed();
  }

  function replaceSlice(key: string, after: EndpointSlice | undefined, now: Millis): void {
    const before = slices.get(key);
    if (after === undefined) slices.delete(key);
    else slices.set(key, after);
    bury(endpointTexts(before), endpointTexts(after), pastEndpoints, now);
    endpoints.changed();
  }

  /** The Service may be unknown: too many to be watched, or not listed yet. */
  function ownerOfPort({ namespace, service: name, port, protocol, endpoint }: ChainPort): OwnedChain {
    const [text = ''] = hashedTexts(namespace, name, port, protocol);
    const service = services.get(keyOf(namespace, name));
    const found = new Map(portTexts(service)).get(text) ?? pastPorts.get(text);
    if (found !== undefined) return ownerBy(found, endpoint);
    return { service: serviceRef(service ?? { namespace, name }), port, protocol, endpoint, deleted: false };
  }

  function ownerBy({ service, port }: PortOfService, endpoint: string | undefined): OwnedChain {
    // The port may be gone, or the Service may be another one of the same name by now.
    const current = services.get(keyOf(service.namespace, service.name));
    return {
      service: serviceRef(current ?? service),
      port: port.name || String(port.port),
      protocol: port.protocol,
      endpoint,
      deleted: current === undefined,
    };
  }
}

type Texts<T> = Iterable<readonly [text: string, value: T]>;

function bury<T>(before: Texts<T>, after: Texts<T>, past: Tombstones<T>, now: Millis): void {
  const gone = new Map(before);
  if (gone.size === 0) return;
  for (const [text] of after) gone.delete(text);
  for (const [text, value] of gone) past.put(text, value, now);
}

function* portTexts(service: Service | undefined): Generator<readonly [string, PortOfService]> {
  if (service === undefined) return;
  const { namespace, name, ports } = service;
  for (const port of ports)
    for (const text of hashedTexts(namespace, name, port.name, port.protocol)) yield [text, { service, port }];
}

function* endpointTexts(slice: EndpointSlice | undefined): Generator<readonly [string, ChainPort]> {
  if (slice === undefined) return;
  const { namespace, service, ports } = slice;
  const backends = unpackEndpoints(slice);
  for (const { name: port, port: number, protocol } of ports) {
    for (const text of hashedTexts(namespace, service, port, protocol)) {
      for (const { address } of backends) {
        const endpoint = hostPort(address, number);
        yield [text + endpoint, { kind: 'service-port', namespace, service, port, protocol, endpoint }];
      }
    }
  }
}

function serviceRef({ namespace, name, uid = '', resourceVersion }: Partial<Service> & { name: string }): ObjectRef {
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion };
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
