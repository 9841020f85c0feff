import { expect, test } from 'vitest';
import { createCertificate } from '../../../src/agent/directory/certificate.ts';
import { encodeReplica } from '../../../src/agent/directory/replicas.ts';
import { createPublication } from '../../../src/agent/directory/server.ts';
import { RefusedError } from '../../../src/agent/kubernetes/http.ts';
import { nine } from '../../builders.ts';
import { fakeApi } from '../../cli/doctor/fake.ts';

const { certificate } = createCertificate('10.65.2.9', nine, nine + 1);
const replica = { host: '10.65.2.9', port: 8443, certificate };
const other = encodeReplica({ ...replica, host: '10.65.2.10' });

function scene(data: Record<string, string> | undefined, status = 0) {
  const api = fakeApi(({ verb }) =>
    status > 0
      ? { kind: 'refused', status, reason: '', message: 'no', retryAfter: undefined }
      : { kind: 'answered', body: verb === 'GET' ? { data } : {} },
  );
  const publish = createPublication({
    connection: api,
    namespace: 'drops',
    configMap: 'directory',
    podName: 'one',
    replica,
    isThere: (name, address) => name === 'two' && address === '10.65.2.10',
  });
  return { api, publish };
}

test.each([
  ['the first entry', undefined, { one: encodeReplica(replica) }],
  ['beside another', { two: other }, { one: encodeReplica(replica) }],
  ['instead of what an earlier one of that name wrote', { one: other }, { one: encodeReplica(replica) }],
])('a replica publishes itself: %s', async (_, data, expected) => {
  const { api, publish: write } = scene(data);
  await write();
  expect(api.asked).toMatchObject([{ verb: 'GET' }, { verb: 'PATCH', body: { data: expected } }]);
  expect(api.asked.map(({ path }) => path)).toEqual([1, 2].map(() => '/api/v1/namespaces/drops/configmaps/directory'));
});

test('a replica that is missing twice in a row is removed', async () => {
  const { api, publish: write } = scene({ one: encodeReplica(replica), two: other, three: other, x: 'y' });
  await write();
  expect(api.asked.map(({ verb }) => verb)).toEqual(['GET']);
  await write();
  expect(api.asked.at(-1)).toMatchObject({ verb: 'PATCH', body: { data: { three: null, x: null } } });
});

test('nothing is written if nothing has changed', async () => {
  const { api, publish: write } = scene({ one: encodeReplica(replica), two: other });
  await write();
  expect(api.asked.map(({ verb }) => verb)).toEqual(['GET']);
});

test('a refusal is an error', async () => {
  await expect(scene({}, 403).publish()).rejects.toThrow(RefusedError);
});
