/** Staged policies of Calico: what there would be if they were enforced. */
import type { Policy } from './policy.ts';

/** Each that sets takes the place of the policy of its name, and each that deletes takes that one away. */
export function promoted(policies: readonly Policy[]): Policy[] {
  const enforced = new Map<string, Policy>();
  for (const policy of policies) if (policy.staged === undefined) enforced.set(keyOf(policy), policy);
  for (const { staged, ...policy } of policies) {
    if (staged === 'set') enforced.set(keyOf(policy), policy);
    if (staged === 'delete') enforced.delete(keyOf(policy));
  }
  return [...enforced.values()];
}

/** `StagedNetworkPolicy shop/x` stands for `NetworkPolicy shop/x` of Calico, a StagedKubernetesNetworkPolicy for one of Kubernetes. */
function keyOf({ ref }: Policy): string {
  const { apiVersion, kind, namespace, name } = ref;
  const isStaged = kind.startsWith('Staged');
  const group = kind === 'StagedKubernetesNetworkPolicy' ? 'networking.k8s.io' : apiVersion.split('/', 1)[0];
  const enforced = isStaged ? kind.replace('StagedKubernetes', '').replace('Staged', '') : kind;
  return `${group}/${enforced}/${namespace ?? ''}/${name}`;
}
