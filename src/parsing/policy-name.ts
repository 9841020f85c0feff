import { isLabel, isSubdomain } from '../platform/api-names.ts';
import type { Observation } from '../model/observation.ts';
import type { PolicyName } from '../model/packet.ts';

/** Whose name and namespace are as the API server accepts them; loggers may have cut the end of a name off. */
const kubernetesKinds = new Set<string | undefined>([
  undefined,
  'NetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'ClusterNetworkPolicy',
  'EgressFirewall',
  'NetworkPolicy.projectcalico.org',
  'GlobalNetworkPolicy',
  'StagedNetworkPolicy',
  'StagedGlobalNetworkPolicy',
  'StagedKubernetesNetworkPolicy',
  'AntreaNetworkPolicy',
  'AntreaClusterNetworkPolicy',
]);
const firewallKinds = new Set(['VyOS rule', 'firewalld policy', 'firewalld zone', 'Shorewall chain', 'Proxmox chain']);

/** A chain, a zone, or a chain and a rule of it: `ipv4-FWD-filter 10`. */
const chain = /^[\w.+~-]{1,64}(?: [\w-]{1,32})?$/;

/** What a logger calls a policy becomes a part of an Event: what is no name of a policy is taken away. The verdict stays. */
export function withPolicyName(observation: Observation): Observation {
  if (observation.kind !== 'packet' || observation.policy === undefined || isPolicyName(observation.policy))
    return observation;
  return { ...observation, policy: undefined };
}

function isPolicyName({ kind, namespace, name, tier }: PolicyName): boolean {
  if (kind !== undefined && firewallKinds.has(kind)) return namespace === undefined && chain.test(name);
  if (!kubernetesKinds.has(kind) || !isSubdomain(uncut(name))) return false;
  return (namespace === undefined || isLabel(uncut(namespace))) && (tier === undefined || isSubdomain(tier));
}

/** Where a name was cut off there may be a mark, and what no name ends with. */
function uncut(name: string): string {
  return name.replace(/[.-]?…?$/, '');
}
