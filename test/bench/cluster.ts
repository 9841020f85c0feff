/** Sets up the cluster of the benchmarks: the account of deploy/, a namespace, Pods by number. */
import { join } from 'node:path';
import type { Connection } from '../e2e/control-plane/connection.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { inTurns } from '../e2e/in-turns.ts';
import { benchPod } from './pods.ts';

const root = join(import.meta.dirname, '../..');

/** A token of the agent's ServiceAccount, with the rights that deploy/ gives. */
export async function agentToken(connection: Connection): Promise<string> {
  await connection.kubectl(['create', 'namespace', 'kube-netfilter-tailer']);
  await connection.kubectl(['apply', '-f', join(root, 'deploy/base/rbac.yaml')]);
  const account = ['kube-netfilter-tailer', '-n', 'kube-netfilter-tailer'];
  return (await connection.succeed(['create', 'token', ...account, '--duration=24h'])).trim();
}

/** The Pods with the numbers `from` to `to`, `to` excluded, with their status. */
export async function createPods(
  connection: Connection,
  from: number,
  to: number,
  nodeOf: (number: number) => number,
): Promise<void> {
  if (to - from > 1000) console.error(`creating ${to - from} Pods …`);
  await createObjects(connection, { items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench' } }] });
  await inTurns(32, [from, to], async (number) => {
    const pod = benchPod(number, nodeOf(number));
    const path = '/api/v1/namespaces/bench/pods';
    const created = await connection.request('POST', path, { body: { ...pod, status: undefined } });
    if (created.status !== 201) throw new Error(`creating a Pod: ${created.status} ${JSON.stringify(created.body)}`);
    const { status } = pod;
    await connection.request('PATCH', `${path}/${pod.metadata.name}/status`, { body: { status } });
  });
}
