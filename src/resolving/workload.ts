import type { Workload } from '../model/endpoint.ts';

export interface Owner {
  kind: string;
  name: string;
}

/** The Deployment by the template hash of a Pod (`web-6c8d5f7b94`), the CronJob by the minute of its Job (`report-29920440`). */
export function workloadOf(
  namespace: string,
  owner: Owner | undefined,
  labels: Record<string, string>,
): Workload | undefined {
  // A static Pod belongs to its node, which is no workload.
  if (owner === undefined || owner.kind === 'Node') return undefined;
  if (owner.kind === 'ReplicaSet') {
    // Argo Rollouts label their Pods with a key of their own.
    for (const [label, kind] of [
      ['pod-template-hash', 'Deployment'],
      ['rollouts-pod-template-hash', 'Rollout'],
    ] as const) {
      const hash = labels[label];
      if (hash !== undefined && owner.name.endsWith(`-${hash}`))
        return { kind, namespace, name: owner.name.slice(0, -hash.length - 1) };
    }
  }
  if (owner.kind === 'Job') {
    // Kubernetes ≥ 1.21 names the Job by minutes since 1970 (8 digits), before that by seconds (10).
    const run = /^(.+)-(?:\d{8}|\d{10})$/.exec(owner.name);
    if (run) return { kind: 'CronJob', namespace, name: run[1] ?? owner.name };
  }
  return { kind: owner.kind, namespace, name: owner.name };
}

export function workloadKey({ kind, namespace, name }: Workload): string {
  return `${kind}/${namespace}/${name}`;
}
