import type { NamedService } from '../../model/incident.ts';
import type { Backend, ServiceChains } from '../../model/service-chain.ts';

/** Services of one incident that are named and get Events. */
export const serviceLimit = 8;
/** Backends of one that are named. */
const backendLimit = 3;

/** The Services that the chains are of, in the order in which they were named, each once; and how many are past the limit. */
export function servicesOf(
  subjects: readonly string[],
  { ownerOf, backendsOf }: ServiceChains,
): { services: NamedService[]; more: number } {
  const named = new Map<string, NamedService>();
  let more = 0;
  for (const subject of subjects) {
    const owner = ownerOf(subject);
    if (owner === undefined) continue;
    const { service, port, deleted } = owner;
    const key = `${service.namespace}/${service.name}`;
    const known = named.get(key);
    if (known !== undefined) {
      if (!known.ports.includes(port)) known.ports.push(port);
    } else if (named.size < serviceLimit) {
      const backends = backendsOf(service.namespace ?? '', service.name);
      named.set(key, {
        object: service,
        ports: [port],
        backends: backends.slice(0, backendLimit).map(nameOf),
        moreBackends: Math.max(0, backends.length - backendLimit),
        deleted,
      });
    } else more++;
  }
  return { services: [...named.values()], more };
}

function nameOf({ pod, address, node }: Backend): string {
  const name = pod === undefined ? address : `${pod.namespace}/${pod.name}`;
  return node === undefined ? name : `${name} on ${node}`;
}
