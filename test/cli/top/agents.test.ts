import { expect, test } from 'vitest';
import { listAgents } from '../../../src/cli/top/rows.ts';

type List = typeof listAgents;

const options = { agents: { namespace: 'drops', port: undefined }, node: undefined } as Parameters<List>[1];
const pod = (name: string, labels: Record<string, string>, ports: readonly object[]) => ({
  metadata: { name, labels },
  spec: { nodeName: 'node-a', containers: [{ ports }] },
  status: { phase: 'Running' },
});
const ours = { 'app.kubernetes.io/name': 'kube-netfilter-tailer' };
const drops = { name: 'drops', containerPort: 9999 };

/** Serves Pods, by the label that is asked for. */
function serving(...pods: readonly ReturnType<typeof pod>[]): Parameters<List>[0] {
  const request = (_: string, __: string, { query = {} }: { query?: Record<string, unknown> } = {}) => {
    const [key = '', value] = (query['labelSelector'] as string | undefined)?.split('=') ?? [];
    const items = pods.filter(({ metadata }) => key === '' || metadata.labels[key] === value);
    return Promise.resolve({ kind: 'answered', body: { items } });
  };
  return { request } as unknown as Parameters<List>[0];
}

test('agents are the Pods with the label, at their port "drops", or else at the usual one', async () => {
  const connection = serving(pod('a', ours, [drops]), pod('b', ours, []), pod('c', {}, [drops]));
  expect(await listAgents(connection, options)).toMatchObject([
    { name: 'a', port: 9999 },
    { name: 'b', port: 9092 },
  ]);
});

test('where no Pod has the label, as with nameOverride, agents are the Pods with the port', async () => {
  const other = { 'app.kubernetes.io/name': 'other' };
  const connection = serving(pod('a', other, [drops]), pod('b', other, [{ name: 'http', containerPort: 80 }]));
  expect(await listAgents(connection, options)).toEqual([{ name: 'a', node: 'node-a', port: 9999 }]);
});
