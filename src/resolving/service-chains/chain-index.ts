import { LRUCache } from 'lru-cache';
import type { Millis } from '../../model/log-line.ts';
import type { Backend, ChainOwner } from '../../model/service-chain.ts';
import {
  backendsIn,
  type EndpointSlice,
  keyOf,
  type Service,
  type ServicePort,
  type ServiceProtocol,
  unpackEndpoints,
} from '../objects.ts';
import { hostAndPort } from '../../platform/address.ts';
import { serviceRef } from '../endpoints.ts';
import { createTombstones, type TombstoneLimits } from '../tombstones.ts';
import { chainHash, type ChainPort, hashedTexts, parseChainName } from './chain-name.ts';

/** The Service, port and endpoint that a chain was made for. */
export interface OwnedChain extends ChainOwner {
  protocol: ServiceProtocol;
  /** `10.244.1.30:5432`, for an endpoint's chain. */
  endpoint: string | undefined;
}

/** Each for ports and for endpoints. A chain may be named long after its Service is gone: that may be why it is missing. */
export const defaultChainLimits: TombstoneLimits = { age: 86_400_000, count: 4096 };

/** A port of a Service, as it is or as it was. */
interface PortOfService {
  service: Service;
  port: ServicePort;
}

export type ChainIndex = ReturnType<typeof createChainIndex>;

/** Finds the Service, the port and the endpoint that one of kube-proxy's chains belongs to, and who is behind a Service. */
export function createChainIndex(limits: TombstoneLimits = defaultChainLimits) {
  const services = createHashedObjects(portTexts, limits);
  const slices = createHashedObjects(endpointTexts, limits);

  return {
    /** Services by `namespace/name`. */
    services: services.objects,
    get sizes(): { slices: number; tombstones: number } {
      return { slices: slices.objects.size, tombstones: services.tombstones + slices.tombstones };
    },
    setService: (service: Service, now: Millis): void =>
      services.replace(keyOf(service.namespace, service.name), service, now),
    removeService: (namespace: string, name: string, now: Millis): void =>
      services.replace(keyOf(namespace, name), undefined, now),
    setSlice(this: void, slice: EndpointSlice, now: Millis): void {
      // Made by hand, and for no Service: kube-proxy takes no notice of it.
      slices.replace(keyOf(slice.namespace, slice.name), slice.service === '' ? undefined : slice, now);
    },
    removeSlice: (namespace: string, name: string, now: Millis): void =>
      slices.replace(keyOf(namespace, name), undefined, now),
    ownerOf(chain: string): OwnedChain | undefined {
      const name = parseChainName(chain);
      if (name?.kind === 'service-hash') {
        const found = services.find(name.hash);
        return found && ownerBy(found, undefined);
      }
      const port = name?.kind === 'endpoint-hash' ? slices.find(name.hash) : name;
      return port && ownerOfPort(port);
    },
    /** These chains are asked for next. */
    expect(chains: readonly string[]): void {
      for (const name of chains.map(parseChainName)) {
        if (name?.kind === 'service-hash') services.expect(name.hash);
        else if (name?.kind === 'endpoint-hash') slices.expect(name.hash);
      }
    },
    backendsOf: (namespace: string, name: string): readonly Backend[] =>
      backendsIn([...slices.objects.values()].filter((each) => each.namespace === namespace && each.service === name)),
    sweep(now: Millis): void {
      services.sweep(now);
      slices.sweep(now);
    },
  };

  /** The Service may be unknown: too many to be watched, or not listed yet. */
  function ownerOfPort({ namespace, service: name, port, protocol, endpoint }: ChainPort): OwnedChain {
    const [text = ''] = hashedTexts(namespace, name, port, protocol);
    const service = services.objects.get(keyOf(namespace, name));
    const found = (service && new Map(portTexts(service)).get(text)) ?? services.past(text);
    if (found !== undefined) return ownerBy(found, endpoint);
    return { service: serviceRef(service ?? { namespace, name }), port, protocol, endpoint, deleted: false };
  }

  function ownerBy({ service, port }: PortOfService, endpoint: string | undefined): OwnedChain {
    // The port may be gone, or the Service may be another one of the same name by now.
    const current = services.objects.get(keyOf(service.namespace, service.name));
    return {
      service: serviceRef(current ?? service),
      port: port.name || String(port.port),
      protocol: port.protocol,
      endpoint,
      deleted: current === undefined,
    };
  }
}

function* portTexts(service: Service): Generator<readonly [string, PortOfService]> {
  const { namespace, name, ports } = service;
  for (const port of ports)
    for (const text of hashedTexts(namespace, name, port.name, port.protocol)) yield [text, { service, port }];
}

function* endpointTexts(slice: EndpointSlice): Generator<readonly [string, ChainPort]> {
  const { namespace, service, ports } = slice;
  const backends = unpackEndpoints(slice);
  for (const { name: port, port: number, protocol } of ports) {
    for (const text of hashedTexts(namespace, service, port, protocol)) {
      for (const { address } of backends) {
        const endpoint = hostAndPort(address, number);
        yield [text + endpoint, { kind: 'service-port', namespace, service, port, protocol, endpoint }];
      }
    }
  }
}

/** Hashes that are looked for together: incidents name 16 chains each at most. */
const asked = 256;

/** Objects found by hashes of texts. No index of these is kept, as few are ever asked for: a pass over all texts finds those asked for lately at once. */
function createHashedObjects<T, V>(
  textsOf: (object: T) => Iterable<readonly [text: string, value: V]>,
  limits: TombstoneLimits,
) {
  const objects = new Map<string, T>();
  const past = createTombstones<string, V>(limits);
  const found = new LRUCache<string, { value: V | undefined }>({ max: asked });
  let isStale = false;

  return {
    objects: objects as ReadonlyMap<string, T>,
    expect,
    /** The value of a text that is gone. */
    past: past.get,
    get tombstones(): number {
      return past.size;
    },
    /** `after` undefined: it is gone. */
    replace(key: string, after: T | undefined, now: Millis): void {
      const before = objects.get(key);
      if (after === undefined) objects.delete(key);
      else objects.set(key, after);
      isStale = true;
      if (before === undefined) return;
      const gone = new Map(textsOf(before));
      if (after !== undefined) for (const [text] of textsOf(after)) gone.delete(text);
      for (const [text, value] of gone) past.put(text, value, now);
    },
    /** The value of the text with that hash; it may be gone. */
    find(hash: string): V | undefined {
      expect(hash);
      if (isStale) findAll();
      return found.get(hash)?.value;
    },
    sweep(now: Millis): void {
      past.sweep(now);
      isStale = true;
    },
  };

  /** Announces a hash, so that one pass finds several. */
  function expect(hash: string): void {
    if (found.has(hash)) return;
    found.set(hash, { value: undefined });
    isStale = true;
  }

  function findAll(): void {
    for (const answer of found.values()) answer.value = undefined;
    for (const [text, value] of texts()) {
      const answer = found.peek(chainHash(text));
      if (answer !== undefined) answer.value ??= value;
    }
    isStale = false;
  }

  function* texts(): Iterable<readonly [string, V]> {
    for (const object of objects.values()) yield* textsOf(object);
    yield* past.entries();
  }
}
