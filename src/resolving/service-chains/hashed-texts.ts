import type { Millis } from '../../model/log-line.ts';
import type { EndpointSlice, Service, ServicePort, ServiceProtocol } from '../objects.ts';
import { chainHash, hashedTexts, hostPort, prefixOf } from './chain-name.ts';
import { unpackEndpoints } from './endpoints.ts';
import type { PrefixTable } from './prefix-table.ts';
import type { Tombstones } from './tombstones.ts';

/** What was hashed, and what it stands for. */
export type Hashed<T> = Map<string, T>;

/** A port of an endpoint, as its chain is named after it. */
export interface EndpointPort {
  namespace: string;
  service: string;
  /** Name; may be ''. */
  port: string;
  protocol: ServiceProtocol;
  endpoint: string | undefined;
}

/** Hashes only what is new or gone; what is gone becomes a tombstone. */
export function rehash<T extends object, V>(
  table: PrefixTable<T>,
  item: T,
  before: Hashed<V>,
  after: ReadonlyMap<string, unknown>,
  past: Tombstones<V>,
  now: Millis,
): void {
  for (const [text, value] of before) {
    if (after.has(text)) continue;
    const hash = chainHash(text);
    table.remove(prefixOf(hash), item);
    past.put(hash, value, now);
  }
  for (const text of after.keys()) {
    if (before.has(text)) continue;
    const hash = chainHash(text);
    table.add(prefixOf(hash), item);
    past.remove(hash);
  }
}

/** What hashes to that. */
export function verified<T>(texts: Hashed<T>, hash: string): T | undefined {
  for (const [text, value] of texts) if (chainHash(text) === hash) return value;
  return undefined;
}

export function portTexts(service: Service | undefined): Hashed<ServicePort> {
  const texts: Hashed<ServicePort> = new Map();
  if (service === undefined) return texts;
  const { namespace, name, ports } = service;
  for (const port of ports)
    for (const text of hashedTexts(namespace, name, port.name, port.protocol)) texts.set(text, port);
  return texts;
}

export function endpointTexts(slice: EndpointSlice): Hashed<EndpointPort> {
  const { namespace, service } = slice;
  const texts: Hashed<EndpointPort> = new Map();
  const backends = unpackEndpoints(slice);
  for (const { name: port, port: number, protocol } of slice.ports) {
    for (const text of hashedTexts(namespace, service, port, protocol)) {
      for (const { address } of backends) {
        const endpoint = hostPort(address, number);
        texts.set(text + endpoint, { namespace, service, port, protocol, endpoint });
      }
    }
  }
  return texts;
}
