/** Rows that say what policies decide about a connection: from batch/worker-7 to shop/postgres-0 on 5432/TCP, but for what a row changes. */
import { expect } from 'vitest';
import {
  type CalicoKind,
  createEvaluator,
  type End,
  type Flow,
  type Pod,
  type Verdict,
} from '../../src/policies/policies.ts';
import { namedPort, namespace, pod, policySet } from './objects.ts';

export const postgres = pod({ ports: [namedPort('db', 5432)], serviceAccount: 'postgres' });
export const worker = pod({
  namespace: 'batch',
  name: 'worker-7',
  labels: { app: 'worker' },
  addresses: ['10.65.2.9'],
  node: 'node-b',
  serviceAccount: 'robot',
});
export const web = pod({ name: 'web-0', labels: { app: 'web' }, addresses: ['10.65.3.3'], node: 'node-b' });
export const onNodeA = pod({
  namespace: 'kube-system',
  name: 'proxy-a',
  labels: { app: 'web' },
  hostNetwork: true,
  addresses: ['192.168.7.11'],
});
export const namespaces = [
  namespace('shop', { team: 'shop' }),
  namespace('batch', { team: 'batch' }),
  namespace('kube-system'),
];

export const end = (of: Pod, address = of.addresses[0]): End => ({ kind: 'pod', pod: of, address });
export const external = (address: string): End => ({ kind: 'external', address });
export const node = (name: string, address: string): End => ({
  kind: 'node',
  node: { name, labels: { zone: 'a' } },
  address,
});
export const connection: Flow = { source: end(worker), destination: end(postgres), protocol: 'TCP', port: 5432 };

type Outcome = Verdict['outcome'];
/** `unread`: kinds of Calico of which there may be more. `missing`: a part of the missing fact. */
type Given = Partial<Flow> & { unread?: CalicoKind[]; missing?: string };

export interface Row {
  policies: object[];
  given: Given;
  ingress?: Outcome;
  egress?: Outcome;
}

export const received = (ingress: Outcome, policies: object[], given: Given = {}): Row => ({
  policies,
  given,
  ingress,
});
export const sent = (egress: Outcome, policies: object[], given: Given = {}): Row => ({ policies, given, egress });
export const both = (ingress: Outcome, egress: Outcome, policies: object[], given?: Given): Row => ({
  ...received(ingress, policies, given),
  egress,
});

export function check({ policies, given: { unread = [], missing, ...flow }, ingress, egress }: Row): void {
  const { verdict } = createEvaluator({ policies: policySet(policies, unread), namespaces });
  for (const [direction, expected] of Object.entries({ ingress, egress })) {
    if (expected === undefined) continue;
    const found = verdict({ ...connection, ...flow }, direction as 'ingress' | 'egress');
    expect({ [direction]: found.outcome }).toEqual({ [direction]: expected });
    if (missing !== undefined) expect(found.missing.join('; ')).toContain(missing);
  }
}
