import type { Millis } from '../../../base/model/log-line.ts';
import type { Backend, ChainOwner } from '../../../base/model/incident.ts';
import {
  backendsIn,
  type EndpointSlice,
  mayHaveMorePorts,
  namespacedName,
  type Service,
  type ServiceParts,
  type ServicePort,
  type ServiceProtocol,
  type ServiceTarget,
  endpointsIn,
  targetsIn,
  tcpPort,
} from '../objects.ts';
import { hostAndPort } from '../../../base/platform/address.ts';
import { createGroups } from '../../../base/platform/groups.ts';
import { serviceRef } from '../endpoints.ts';
import type { TombstoneLimits } from '../tombstones.ts';
import { type MemoryBudget, unlimitedMemory } from '../../../base/platform/memory-budget.ts';
import { weightOf } from '../../../base/platform/weight.ts';
import { type ChainPort, hashedTexts, parseChainName } from './chain-name.ts';
import { createHashedObjects } from './hashed-objects.ts';

export interface OwnedChain extends ChainOwner {
  protocol: ServiceProtocol;
  /** Such as `10.244.1.30:5432`, for the chain of an endpoint. */
  endpoint: string | undefined;
}

/** Both for ports and for endpoints. A chain may be logged long after its Service was deleted, which may be why the chain is missing. */
export const defaultChainLimits: TombstoneLimits = { age: 86_400_000, count: 4096 };

/** The most Services with the same published address that are looked through, and those of them that have the port. */
const mostPublished = { services: 1024, withPort: 16 };

interface PortOfService {
  service: Pick<Service, 'namespace' | 'name' | 'uid' | 'resourceVersion'>;
  port: ServicePort;
}

/** `many`: there are too many of them, of the Services, or of their slices, or not all are known. */
export type PublishedTargets = readonly ServiceTarget[] | 'many';

export interface ChainIndex {
  /** The Services by `namespace/name`. */
  readonly services: ReadonlyMap<string, Service>;
  readonly sliceCount: number;
  setService: (service: Service, now: Millis) => void;
  removeService: (namespace: string, name: string, now: Millis) => void;
  setSlice: (slice: EndpointSlice, now: Millis) => void;
  removeSlice: (namespace: string, name: string, now: Millis) => void;
  leaveOutService: (namespace: string, name: string) => void;
  leaveOutSlice: (namespace: string, name: string) => void;
  /** Searches all Services and endpoints at once, which takes long in a large cluster. */
  ownerOf(chain: string): OwnedChain | undefined;
  /** Finds the owners of chains, so that `foundOwnerOf` has them. Other work has its turns in between. */
  prepare: (chains: readonly string[]) => Promise<void>;
  foundOwnerOf: (chain: string) => OwnedChain | undefined;
  backendsOf: (namespace: string, name: string) => readonly Backend[];
  /**
   * Returns the endpoints that may get connections to an address and a port of a Service over TCP. There are none without a ready endpoint.
   * Undefined if they are more than `most`, in too many slices, or not all known.
   */
  targetsOf: (namespace: string, name: string, to: ServiceTarget, most: number) => readonly ServiceTarget[] | undefined;
  /** The same of all Services that publish the address and the port, but also without a ready endpoint. Undefined if there is no such Service. */
  publishedTargetsOf: (to: ServiceTarget, most: number) => PublishedTargets | undefined;
  sweep(now: Millis): void;
}

/** Finds the owner of one of kube-proxy's chains, and the endpoints of a Service. */
export function createChainIndex(limits: TombstoneLimits = defaultChainLimits, memory = unlimitedMemory()): ChainIndex {
  const common = { ...limits, memory, weigh: weightOf };
  const services = createHashedObjects(portTexts, { ...common, namespaceOf: ({ service }) => service.namespace });
  const slices = createHashedObjects(endpointTexts, { ...common, namespaceOf: ({ namespace }) => namespace });
  const slicesOfServices = createObjectGroups<EndpointSlice>(slices.objects, ({ namespace, service }) => [
    namespacedName(namespace, service),
  ]);
  const servicesOfPublished = createObjectGroups<Service>(services.objects, ({ published = [] }) => published);
  const leftOut = createLeftOutSlices(memory);
  const targets = createTargets({
    services: services.objects,
    servicesOf: servicesOfPublished.of,
    slicesOf: (namespace, name) => (leftOut.has(namespace) ? undefined : slicesOf(namespace, name)),
  });

  return {
    services: services.objects,
    get sliceCount(): number {
      return slices.objects.size;
    },
    setService: (service: Service, now: Millis): void =>
      servicesOfPublished.around(namespacedName(service.namespace, service.name), (key) =>
        services.replace(key, service, now),
      ),
    removeService: (namespace: string, name: string, now: Millis): void =>
      servicesOfPublished.around(namespacedName(namespace, name), (key) => services.replace(key, undefined, now)),
    // kube-proxy ignores slices that belong to no Service.
    setSlice: (slice: EndpointSlice, now: Millis): void =>
      slicesOfServices.around(namespacedName(slice.namespace, slice.name), (key) =>
        slices.replace(key, slice.service === '' ? undefined : slice, now),
      ),
    removeSlice: (namespace: string, name: string, now: Millis): void =>
      slicesOfServices.around(namespacedName(namespace, name), (key) => slices.replace(key, undefined, now)),
    leaveOutService: (namespace: string, name: string): void =>
      servicesOfPublished.around(namespacedName(namespace, name), services.leaveOut),
    leaveOutSlice(namespace: string, name: string): void {
      leftOut.add(namespace);
      slicesOfServices.around(namespacedName(namespace, name), slices.leaveOut);
    },
    ownerOf(chain: string): OwnedChain | undefined {
      const hashes = hashesIn([chain]);
      services.findNow(hashes.services);
      slices.findNow(hashes.endpoints);
      return foundOwnerOf(chain);
    },
    async prepare(this: void, chains: readonly string[]): Promise<void> {
      const hashes = hashesIn(chains);
      await services.find(hashes.services);
      await slices.find(hashes.endpoints);
    },
    foundOwnerOf,
    backendsOf: (namespace: string, name: string): readonly Backend[] => backendsIn(slicesOf(namespace, name)),
    ...targets,
    sweep(now: Millis): void {
      services.sweep(now);
      slices.sweep(now);
    },
  };

  function slicesOf(namespace: string, name: string): Iterable<EndpointSlice> {
    return slicesOfServices.of(namespacedName(namespace, name));
  }

  function foundOwnerOf(chain: string): OwnedChain | undefined {
    const name = parseChainName(chain);
    if (name?.kind === 'service-hash') {
      const found = services.found(name.hash);
      return found && ownerBy(found, undefined, services.objects);
    }
    const port = name?.kind === 'endpoint-hash' ? slices.found(name.hash) : name;
    return port && ownerOfPort(port);
  }

  /** The Service may be unknown, because there are too many to watch, or Services are not listed yet. */
  function ownerOfPort({ namespace, service: name, port, protocol, endpoint }: ChainPort): OwnedChain {
    const [text = ''] = hashedTexts(namespace, name, port, protocol);
    const service = services.objects.get(namespacedName(namespace, name));
    const found = (service && new Map(portTexts(service)).get(text)) ?? services.past(text);
    if (found !== undefined) return ownerBy(found, endpoint, services.objects);
    return { service: serviceRef(service ?? { namespace, name }), port, protocol, endpoint, deleted: false };
  }
}

function ownerBy(
  { service, port }: PortOfService,
  endpoint: string | undefined,
  services: ReadonlyMap<string, Service>,
): OwnedChain {
  // The Service of this name may be another one by now, or may have lost the port.
  const current = services.get(namespacedName(service.namespace, service.name));
  return {
    service: serviceRef(current ?? service),
    port: port.name || String(port.port),
    protocol: port.protocol,
    endpoint,
    deleted: current === undefined,
  };
}

/** Remembers Namespaces with slices for which memory has no room, as long as there are any. */
function createLeftOutSlices({ accounts }: MemoryBudget) {
  const namespaces = new Set<string>();
  return {
    add: (namespace: string): void => void namespaces.add(namespace),
    has(namespace: string): boolean {
      if (![...accounts].some(({ resource, leftOut }) => resource === 'endpointslices' && leftOut > 0))
        namespaces.clear();
      return namespaces.has(namespace);
    },
  };
}

interface TargetsOptions {
  services: ReadonlyMap<string, Service>;
  servicesOf: (published: string) => Iterable<Service>;
  /** Undefined if not all of them are known. */
  slicesOf: (namespace: string, name: string) => Iterable<EndpointSlice> | undefined;
}

function createTargets({
  services,
  servicesOf,
  slicesOf,
}: TargetsOptions): Pick<ChainIndex, 'targetsOf' | 'publishedTargetsOf'> {
  return {
    targetsOf(this: void, namespace: string, name: string, to: ServiceTarget, most: number) {
      const service = services.get(namespacedName(namespace, name));
      if (service === undefined) return [];
      const targets = targetsIn([partsOf(service)], to, most);
      // If no endpoint is ready, not every proxy uses those that terminate.
      return targets?.isAnyReady === false ? [] : targets?.all;
    },
    publishedTargetsOf(this: void, to: ServiceTarget, most: number) {
      const publishing: ServiceParts[] = [];
      let looked = 0;
      for (const service of servicesOf(to.address)) {
        if (++looked > mostPublished.services) return 'many';
        if (tcpPort(service.ports, to.port) === undefined) {
          if (mayHaveMorePorts(service)) return 'many';
          continue;
        }
        if (publishing.length === mostPublished.withPort) return 'many';
        publishing.push(partsOf(service));
      }
      return publishing.length === 0 ? undefined : (targetsIn(publishing, to, most)?.all ?? 'many');
    },
  };

  function partsOf({ namespace, name, ports }: Service): ServiceParts {
    return { ports, slices: slicesOf(namespace, name) };
  }
}

/** Finds objects by their group, because a tenant chooses the number of questions and of objects. */
function createObjectGroups<T>(objects: ReadonlyMap<string, T>, groupsOf: (object: T) => readonly string[]) {
  const keys = createGroups<string>();
  return {
    *of(this: void, group: string): Generator<T> {
      for (const key of keys.all.get(group) ?? []) yield objects.get(key) as T;
    },
    /** `change`: may set or remove the object of this key. */
    around(this: void, key: string, change: (key: string) => void): void {
      for (const group of groupsOfKey(key)) keys.remove(group, key);
      change(key);
      for (const group of groupsOfKey(key)) keys.add(group, key);
    },
  };

  function groupsOfKey(key: string): readonly string[] {
    const object = objects.get(key);
    return object === undefined ? [] : groupsOf(object);
  }
}

function hashesIn(chains: readonly string[]): { services: string[]; endpoints: string[] } {
  const names = chains.flatMap((chain) => parseChainName(chain) ?? []);
  return {
    services: names.flatMap((name) => (name.kind === 'service-hash' ? name.hash : [])),
    endpoints: names.flatMap((name) => (name.kind === 'endpoint-hash' ? name.hash : [])),
  };
}

function* portTexts(service: Service, except?: Service): Generator<readonly [string, PortOfService]> {
  const { namespace, name, uid, resourceVersion, ports } = service;
  const kept = new Set(except && Array.from(portTexts(except), ([text]) => text));
  for (const port of ports)
    for (const text of hashedTexts(namespace, name, port.name, port.protocol))
      if (!kept.has(text)) yield [text, { service: { namespace, name, uid, resourceVersion }, port }];
}

function* endpointTexts(slice: EndpointSlice, except?: EndpointSlice): Generator<readonly [string, ChainPort]> {
  const { namespace, service, ports } = slice;
  const all = endpointsIn(slice);
  const other = except?.service === service ? except : undefined;
  const kept = new Set(other && endpointsIn(other).map(({ address }) => address));
  const keptPorts = new Set(other?.ports.map(portKey));
  const lost = all.filter(({ address }) => !kept.has(address));
  for (const each of ports) {
    const { name: port, port: number, protocol } = each;
    for (const text of hashedTexts(namespace, service, port, protocol)) {
      for (const { address } of keptPorts.has(portKey(each)) ? lost : all) {
        const endpoint = hostAndPort(address, number);
        yield [text + endpoint, { kind: 'service-port', namespace, service, port, protocol, endpoint }];
      }
    }
  }
}

function portKey({ name, port, protocol }: ServicePort): string {
  return `${name} ${port} ${protocol}`;
}
