/** Hides facts: the verdict may then become unknown, but never a different one. */
import fc from 'fast-check';
import type { End, PolicyFlow, PolicyPod } from '../../../src/explain/policies/policies.ts';

type Fact = 'labels' | 'ports' | 'node' | 'address' | 'pod' | 'account';

const facts = fc.subarray<Fact>(['labels', 'ports', 'node', 'address', 'pod', 'account'], { maxLength: 2 });

/** Namespaces that cannot be read, the unknown parts of the two ends, and whether the port is unknown. */
export const hiddenFacts = fc.record({
  namespaces: fc.subarray(['x', 'y']),
  source: facts,
  destination: facts,
  port: fc.boolean(),
});

export function hideFrom(flow: PolicyFlow, hide: HiddenFacts): PolicyFlow {
  // An end without an address is not the Pod itself.
  const isOther = flow.source.address !== flow.destination.address;
  return {
    ...flow,
    source: hideFacts(flow.source, hide.source, isOther),
    destination: hideFacts(flow.destination, hide.destination, isOther),
    port: hide.port ? undefined : flow.port,
  };
}

type HiddenFacts = typeof hiddenFacts extends fc.Arbitrary<infer T> ? T : never;

function hideFacts(end: End, hide: readonly Fact[], isOther: boolean): End {
  if (hide.includes('pod'))
    return { kind: 'unknown', address: isOther && hide.includes('address') ? undefined : end.address };
  if (end.kind !== 'pod') return end;
  const pod: PolicyPod = {
    ...end.pod,
    labels: hide.includes('labels') ? undefined : end.pod.labels,
    ports: hide.includes('ports') ? undefined : end.pod.ports,
    node: hide.includes('node') ? undefined : end.pod.node,
    serviceAccount: hide.includes('account') ? undefined : end.pod.serviceAccount,
  };
  return { kind: 'pod', pod, address: hide.includes('address') ? undefined : end.address };
}
