/**
 * Rows about what policies decide on a connection: from batch/worker-7 to shop/postgres-0 on 5432/TCP, unless a row
 * changes that.
 */
import { load } from 'js-yaml';
import { expect } from 'vitest';
import {
  type CalicoKind,
  type ConnectionVerdict,
  createEvaluator,
  type End,
  type PolicyFlow,
  type PolicyPod,
} from '../../../src/explain/policies/policies.ts';
import { rowsIn } from '../../corpus/lines.ts';
import { namedPort, namespace, pod, policySet, shortObjects } from './objects.ts';

export const postgres = pod({ ports: [namedPort('db', 5432)] });
export const worker = pod({
  namespace: 'batch',
  name: 'worker-7',
  labels: { app: 'worker', tier: 'b' },
  addresses: ['10.65.2.9'],
  node: 'node-b',
  serviceAccount: 'runner',
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

export const end = (of: PolicyPod, address = of.addresses[0]): End => ({ kind: 'pod', pod: of, address });
export const external = (address: string): End => ({ kind: 'external', address });
export const node = (name: string, address: string): End => ({
  kind: 'node',
  node: { name, labels: { zone: 'a' } },
  address,
});
export const connection: PolicyFlow = { source: end(worker), destination: end(postgres), protocol: 'TCP', port: 5432 };

type Outcome = ConnectionVerdict['outcome'];
/**
 * `unread`: Calico's kinds of which there may be more objects. `missing`: a part of the missing fact. `max`: the bytes
 * of a sentence.
 */
type Given = Partial<PolicyFlow> & { unread?: CalicoKind[]; missing?: string; max?: number };

export interface Row {
  policies: object[];
  given: Given;
  ingress?: Outcome | undefined;
  egress?: Outcome | undefined;
}

const pods: Readonly<Record<string, PolicyPod>> = { postgres, worker, web, onNodeA };

/**
 * Rows of a file, in YAML without the outer braces: the expected outcome of a direction, and how the connection
 * differs; then a line for each object, as shortObjects() in objects.ts reads it.
 *
 *     = 3: an empty podSelector of a peer is all Pods of its own Namespace
 *     ingress: admits, source: web
 *     - NetworkPolicy: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}
 *
 * An end is one of these Pods, `{pod: worker, completed: true}`, `{node: node-b, address: 192.168.7.12}`,
 * `{external: 192.0.2.7}` or `{unknown: 10.65.9.9}`; `~` stands for an unknown fact.
 */
export function rowsOf(file: string): [title: string, Row][] {
  return rowsIn(file).map(({ id, text }) => {
    const lines = text.split('\n');
    const head = lines[0]?.startsWith('- ') === false ? lines.shift() : '';
    const { ingress, egress, ...given } = withoutNulls(load(`{${head}}`) as object);
    const strange = Object.keys(given).filter((key) => !keys.has(key));
    if (strange.length > 0) throw new Error(`${file}: ${id}: ${strange.join(', ')}`);
    for (const side of ['source', 'destination']) if (side in given) given[side] = endOf(given[side]);
    const policies = (load(lines.join('\n') || '[]') as object[]).flatMap(shortObjects);
    return [id, { policies, given, ingress, egress } as Row];
  });
}

/** The fields of a row other than `ingress` and `egress`. */
const keys: ReadonlySet<string> = new Set('source destination protocol port viaService unread missing max'.split(' '));

const withoutNulls = (given: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value ?? undefined]));

function endOf(given: unknown): End {
  if (typeof given === 'string') return end(pods[given] as PolicyPod);
  const { pod: base, ...more } = given as Record<string, string>;
  if (base !== undefined) {
    const { address, ...changes } = { address: pods[base]?.addresses[0], ...withoutNulls(more) };
    return { kind: 'pod', pod: { ...(pods[base] as PolicyPod), ...changes }, address };
  }
  if (more['node'] !== undefined) return node(more['node'], more['address'] ?? '');
  if (more['external'] !== undefined) return external(more['external']);
  return { kind: 'unknown', address: more['unknown'] ?? '' };
}

export function check({ policies, given: { unread = [], missing, ...flow }, ingress, egress }: Row): void {
  const { verdict } = createEvaluator({ policies: policySet(policies, unread), namespaces });
  expect(ingress ?? egress).toBeDefined();
  for (const [direction, expected] of Object.entries({ ingress, egress })) {
    if (expected === undefined) continue;
    const found = verdict({ ...connection, ...flow }, direction as 'ingress' | 'egress');
    expect({ [direction]: found.outcome }).toEqual({ [direction]: expected });
    const isUnknown = expected === 'unknown';
    expect([found.reason === 'unknown', found.missing.length > 0]).toEqual([isUnknown, isUnknown]);
    if (missing !== undefined) expect(found.missing.join('; ')).toContain(missing);
  }
}
