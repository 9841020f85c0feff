import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { ChainOwner, ServiceChains } from '../../model/service-chain.ts';
import type { EndpointSlice, Service, ServicePort, ServiceProtocol } from '../objects.ts';
import { chainHash, hashedTexts, parseChainName, prefixOf } from './chain-name.ts';
import { backendsIn } from './endpoints.ts';
import { type EndpointPort, endpointTexts, portTexts, rehash, verified } from './hashed-texts.ts';
import { createPrefixTable } from './prefix-table.ts';
import { createTombstones, type TombstoneLimits } from './tombstones.ts';

/** What a chain was made for. */
export interface OwnedChain extends ChainOwner {
  protocol: ServiceProtocol;
  /** `10.244.1.30:5432`, for an endpoint's chain. */
  endpoint: string | undefined;
}

/** Finds the Service, the port and the endpoint that one of kube-proxy's chains belongs to, and who is behind a Service. */
export interface ChainIndex extends ServiceChains {
  setService: (service: Service, now: Millis) => void;
  removeService: (namespace: string, name: string, now: Millis) => void;
  setSlice: (slice: EndpointSlice, now: Millis) => void;
  removeSlice: (namespace: string, name: string, now: Millis) => void;
  ownerOf: (chain: string) => OwnedChain | undefined;
  /** Forgets tombstones that are too old. */
  sweep: (now: Millis) => void;
  /** `ports` and `endpoints`: hashes that are known. */
  readonly sizes: { services: number; ports: number; slices: number; endpoints: number; tombstones: number };
}

/** Each for ports and for endpoints. A chain may be named long after its Service is gone: that may be why it is missing. */
export const defaultChainLimits: TombstoneLimits = { age: 86_400_000, count: 4096 };

/** A Service, or what has only EndpointSlices so far. */
interface Owner {
  namespace: string;
  name: string;
  service: Service | undefined;
  slices: SliceEntry[];
}

interface SliceEntry {
  slice: EndpointSlice;
  owner: Owner;
}

export function createChainIndex(limits: TombstoneLimits = defaultChainLimits): ChainIndex {
  const owners = new Map<string, Owner>();
  const slices = new Map<string, SliceEntry>();
  const ports = createPrefixTable<Owner>();
  const endpoints = createPrefixTable<SliceEntry>();
  const pastPorts = createTombstones<Omit<OwnedChain, 'deleted'>>(limits);
  const pastEndpoints = createTombstones<EndpointPort>(limits);
  let services = 0;

  return {
    get sizes() {
      return {
        services,
        ports: ports.size,
        slices: slices.size,
        endpoints: endpoints.size,
        tombstones: pastPorts.size + pastEndpoints.size,
      };
    },
    setService(service, now) {
      const owner = ownerAt(service.namespace, service.name);
      if (owner.service === undefined) services++;
      replaceService(owner, service, now);
    },
    removeService(namespace, name, now) {
      const owner = owners.get(keyOf(namespace, name));
      if (owner?.service === undefined) return;
      services--;
      replaceService(owner, undefined, now);
      dropIfEmpty(owner);
    },
    setSlice(slice, now) {
      const key = keyOf(slice.namespace, slice.name);
      const entry = slices.get(key);
      if (entry !== undefined && entry.slice.service === slice.service) {
        const before = entry.slice;
        entry.slice = slice;
        if (before.ports === slice.ports && before.endpoints === slice.endpoints) return;
        return rehash(endpoints, entry, endpointTexts(before), endpointTexts(slice), pastEndpoints, now);
      }
      if (entry !== undefined) removeEntry(key, entry, now);
      // Made by hand, and for no Service: kube-proxy takes no notice of it.
      if (slice.service === '') return;
      const owner = ownerAt(slice.namespace, slice.service);
      const added = { slice, owner };
      slices.set(key, added);
      owner.slices.push(added);
      rehash(endpoints, added, new Map(), endpointTexts(slice), pastEndpoints, now);
    },
    removeSlice(namespace, name, now) {
      const key = keyOf(namespace, name);
      const entry = slices.get(key);
      if (entry !== undefined) removeEntry(key, entry, now);
    },
    ownerOf(chain) {
      const name = parseChainName(chain);
      switch (name?.kind) {
        case 'service-hash':
          return byPortHash(name.hash);
        case 'endpoint-hash': {
          const found = byEndpointHash(name.hash);
          return found && describe(found);
        }
        case 'service-port':
          return describe(name);
        case 'shared':
        case undefined:
          return undefined;
        default:
          return name satisfies never;
      }
    },
    backendsOf(namespace, name) {
      const owner = owners.get(keyOf(namespace, name));
      return owner === undefined ? [] : backendsIn(owner.slices.map(({ slice }) => slice));
    },
    sweep(now) {
      pastPorts.sweep(now);
      pastEndpoints.sweep(now);
    },
  };

  function ownerAt(namespace: string, name: string): Owner {
    const key = keyOf(namespace, name);
    const known = owners.get(key);
    if (known !== undefined) return known;
    const owner: Owner = { namespace, name, service: undefined, slices: [] };
    owners.set(key, owner);
    return owner;
  }

  function dropIfEmpty({ namespace, name, service, slices: left }: Owner): void {
    if (service === undefined && left.length === 0) owners.delete(keyOf(namespace, name));
  }

  function replaceService(owner: Owner, service: Service | undefined, now: Millis): void {
    const before = portTexts(owner.service);
    const ref = serviceRef(owner);
    owner.service = service;
    const past = new Map(
      [...before].map(([text, port]) => [
        text,
        { service: ref, port: labelOf(port), protocol: port.protocol, endpoint: undefined },
      ]),
    );
    rehash(ports, owner, past, portTexts(service), pastPorts, now);
  }

  function removeEntry(key: string, entry: SliceEntry, now: Millis): void {
    const { owner, slice } = entry;
    slices.delete(key);
    owner.slices = owner.slices.filter((each) => each !== entry);
    rehash(endpoints, entry, endpointTexts(slice), new Map(), pastEndpoints, now);
    dropIfEmpty(owner);
  }

  function byPortHash(hash: string): OwnedChain | undefined {
    const found = ports.find(prefixOf(hash), (owner): OwnedChain | undefined => {
      const port = verified(portTexts(owner.service), hash);
      if (port === undefined) return undefined;
      const { protocol } = port;
      return { service: serviceRef(owner), port: labelOf(port), protocol, endpoint: undefined, deleted: false };
    });
    if (found !== undefined) return found;
    const past = pastPorts.get(hash);
    if (past === undefined) return undefined;
    const owner = owners.get(keyOf(past.service.namespace ?? '', past.service.name));
    // One that was made anew under the same name is there.
    if (owner?.service === undefined) return { ...past, deleted: true };
    return { ...past, service: serviceRef(owner), deleted: false };
  }

  function byEndpointHash(hash: string): EndpointPort | undefined {
    const found = endpoints.find(prefixOf(hash), ({ slice }) => verified(endpointTexts(slice), hash));
    return found ?? pastEndpoints.get(hash);
  }

  /** The Service may be unknown: too many to be watched, or not listed yet. */
  function describe({ namespace, service, port, protocol, endpoint }: EndpointPort): OwnedChain {
    const [text = ''] = hashedTexts(namespace, service, port, protocol);
    const known = byPortHash(chainHash(text));
    if (known !== undefined) return { ...known, endpoint };
    const owner = owners.get(keyOf(namespace, service)) ?? { namespace, name: service, service: undefined };
    return { service: serviceRef(owner), port, protocol, endpoint, deleted: false };
  }
}

function labelOf({ name, port }: ServicePort): string {
  return name || String(port);
}

function serviceRef({ namespace, name, service }: Pick<Owner, 'namespace' | 'name' | 'service'>): ObjectRef {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    namespace,
    name,
    uid: service?.uid ?? '',
    resourceVersion: service?.resourceVersion,
  };
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
