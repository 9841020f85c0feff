import type { ServicePort } from '../objects.ts';

/** Most Services have the same few lists of ports as others. */
const known = new Map<string, readonly ServicePort[]>();

/** An equal list, the same one for all that are equal: ports take most of the memory of a Service else. */
export function sharedPorts(ports: readonly ServicePort[]): readonly ServicePort[] {
  const key = JSON.stringify(ports);
  const shared = known.get(key);
  if (shared !== undefined) return shared;
  if (known.size >= 5000) known.clear();
  known.set(key, ports);
  return ports;
}
