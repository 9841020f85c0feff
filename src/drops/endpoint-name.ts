import type { Endpoint } from '../model/endpoint.ts';
import type { PolicyName } from '../model/packet.ts';

/** `shop/db-0` for Pods, else with the kind: `node node-a`, `Service default/kubernetes`; the address where unknown. */
export function nameOf({ object, address }: Endpoint): string {
  if (!object) return address;
  if (object.kind === 'Node') return `node ${object.name}`;
  const name = `${object.namespace}/${object.name}`;
  return object.kind === 'Pod' ? name : `${object.kind} ${name}`;
}

/** `NetworkPolicy shop/default-deny`, `GlobalNetworkPolicy lockdown (tier security)`. */
export function policyText({ kind, namespace, name, tier }: PolicyName): string {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind === undefined ? 'policy' : kind} ${full}${tier === undefined ? '' : ` (tier ${tier})`}`;
}

/** `a, b, c, d, e and 12 more`. */
export function listed(seen: readonly string[], past: number): string {
  if (seen.length <= 6) return seen.join(', ');
  return `${seen.slice(0, 5).join(', ')} and ${past > 0 ? 'over ' : ''}${seen.length - 5} more`;
}
