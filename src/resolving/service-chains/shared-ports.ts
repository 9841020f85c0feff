import { LRUCache } from 'lru-cache';
import type { ServicePort } from '../objects.ts';

/** Most Services have the same few lists of ports as others. Bounded by the characters of the keys, as it outlives the Services. */
const known = new LRUCache<string, readonly ServicePort[]>({
  maxSize: 1 << 20,
  sizeCalculation: (_, key) => key.length,
});

/** An equal list, the same one for all that are equal: ports take most of the memory of a Service else. */
export function sharedPorts(ports: readonly ServicePort[]): readonly ServicePort[] {
  const key = JSON.stringify(ports);
  const shared = known.get(key);
  if (shared !== undefined) return shared;
  known.set(key, ports);
  return ports;
}
