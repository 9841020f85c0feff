/**
 * Prints random cases, one JSON object a line, as `judge/main.go` reads them. `verdicts.txt` has the judge's answers.
 */
import type { End } from '../../../../src/explain/policies/policies.ts';
import { asked, randomCases } from './random.ts';

for (const { policies, flow, direction } of randomCases(asked.seed, asked.count)) {
  const { protocol, port } = flow;
  const namedPorts = protocol === 'TCP' ? { db: 5432 } : {};
  const ends = { from: endOf(flow.source), to: endOf(flow.destination) };
  console.log(JSON.stringify({ policies, ...ends, protocol, port, direction, namedPorts }));
}

/** An end as Cilium knows it: by the labels of its identity. */
function endOf(end: End): object {
  if (end.kind === 'external') return { cidr: `${end.address}/32` };
  if (end.kind !== 'pod') return { reserved: 'remote-node' };
  const { namespace, labels, serviceAccount } = end.pod;
  return {
    labels: {
      ...labels,
      'io.kubernetes.pod.namespace': namespace,
      'io.cilium.k8s.namespace.labels.team': namespace,
      'io.cilium.k8s.policy.cluster': 'default',
      'io.cilium.k8s.policy.serviceaccount': serviceAccount,
    },
  };
}
