/** Hides facts: the verdict may then become unknown, but never a different one. */
import fc from 'fast-check';
import type { End, PolicyPod } from '../../../src/explain/policies/policies.ts';

type Fact = 'labels' | 'ports' | 'node' | 'address' | 'pod' | 'account';

const facts = fc.subarray<Fact>(['labels', 'ports', 'node', 'address', 'pod', 'account'], { maxLength: 2 });

/** Namespaces that cannot be read, and the unknown parts of the two ends. */
export const hiddenFacts = fc.record({ namespaces: fc.subarray(['x', 'y']), source: facts, destination: facts });

export function hideFacts(end: End, hide: readonly Fact[]): End {
  if (end.kind !== 'pod') return hide.includes('pod') ? { kind: 'unknown', address: end.address ?? '' } : end;
  if (hide.includes('pod')) return { kind: 'unknown', address: end.address ?? '' };
  const pod: PolicyPod = {
    ...end.pod,
    labels: hide.includes('labels') ? undefined : end.pod.labels,
    ports: hide.includes('ports') ? undefined : end.pod.ports,
    node: hide.includes('node') ? undefined : end.pod.node,
    serviceAccount: hide.includes('account') ? undefined : end.pod.serviceAccount,
  };
  return { kind: 'pod', pod, address: hide.includes('address') ? undefined : end.address };
}
