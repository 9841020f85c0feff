import { expect, test } from 'vitest';
import { readConfig } from '../../config/reading.ts';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { runChecks } from '../../../src/commands/doctor/run-checks.ts';
import { doctorTasks } from '../../../src/commands/doctor/tasks.ts';
import type { Answer } from '../../../src/kubernetes/connection.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { answered, fakeApi, fakeSystem, refused } from './fake.ts';

const kind = { metadata: { name: 'node-b', uid: 'u' }, spec: { providerID: 'kind://docker/kind/kind-worker' } };

test('what several checks want to know of the API server is asked once', async () => {
  const { asked, statuses } = await checked(answered({ items: [kind] }));
  expect(statuses).toMatchObject({ node: 'ok', 'nf-log-all-netns': 'warning' });
  expect(asked.filter((request) => request.includes('metadata.name=node-b'))).toHaveLength(1);
  expect(asked.filter((request) => request.includes('spec.nodeName=node-b'))).toHaveLength(1);
});

test.each<[string, Answer, Record<string, string>]>([
  ['may not be read', refused(403), { node: 'unknown', 'nf-log-all-netns': 'unknown' }],
  ['is not there', answered({ items: [] }), { node: 'problem', 'nf-log-all-netns': 'unknown' }],
  [
    'names no provider',
    answered({ items: [{ metadata: kind.metadata, spec: { providerID: 1 } }] }),
    { node: 'ok', 'nf-log-all-netns': 'unknown' },
  ],
])('a Node that %s', async (_, answer, expected) => {
  expect((await checked(answer)).statuses).toMatchObject(expected);
});

test('without a name no Node is asked for', async () => {
  const { asked, statuses } = await checked(answered({ items: [kind] }), '');
  expect(statuses).toMatchObject({ node: 'unknown', 'nf-log-all-netns': 'unknown' });
  expect(asked.filter((request) => request.startsWith('/api/v1/nodes'))).toEqual([]);
});

/** Runs all checks in a Pod, from where the node's network cannot be seen. */
async function checked(
  nodes: Answer,
  node = 'node-b',
): Promise<{ asked: readonly string[]; statuses: Readonly<Record<string, Check['status']>> }> {
  const api = fakeApi(({ path }) => (path === '/api/v1/nodes' ? nodes : undefined));
  const config = { ...readConfig({}, { NODE_NAME: 'node-b', SOURCES: 'containers' }), node };
  const tasks = doctorTasks({
    config,
    problems: [],
    warnings: [],
    api,
    ownPod: undefined,
    prefixes: createPrefixTable(),
    system: fakeSystem({ lookAtNetwork: () => Promise.resolve('pod') }),
  });
  const checks = await runChecks({ tasks, timeout: 5000, schedule: () => () => {} });
  return {
    asked: api.asked.map(({ path, query }) => `${path} ${JSON.stringify(Object.values(query))}`),
    statuses: Object.fromEntries(checks.map(({ name, status }) => [name, status])),
  };
}
