import { expect, test } from 'vitest';
import { lookAtFinders } from '../../../src/cli/doctor/api.ts';

const config: Parameters<typeof lookAtFinders>[0]['config'] = {
  node: 'node-a',
  podCache: 'node',
  podLookups: ['pod-cidr'],
  maxNodes: 100,
  directory: undefined,
};

test('an unreadable Node is not said to lack a podCIDR', async () => {
  const refused = { kind: 'refused', why: 'no answer in time' } as const;
  const api = { request: () => Promise.resolve({ ...refused, status: 0 }), unusable: undefined } as never;
  const [finder] =
    (await lookAtFinders({ api, config, ownNode: Promise.resolve(refused), pods: Promise.resolve([]) })) ?? [];
  expect(finder).toMatchObject({ way: 'pod-cidr', usable: false, why: 'this Node could not be read' });
});
