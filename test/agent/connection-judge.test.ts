import { expect, test } from 'vitest';
import { judgeOf } from '../../src/agent/ingest.ts';
import { serviceRef } from '../../src/explain/resolving/endpoints.ts';
import { createLiveLists } from '../../src/explain/resolving/resolving.ts';
import { backend, endpointSlice, nine, service } from '../builders.ts';

test('while EndpointSlices are not watched, endpoints are not known, but claims are', () => {
  const lists = createLiveLists('node-a', undefined);
  const api = service({ published: ['198.51.100.7'] });
  lists.setService(api, nine);
  lists.chains.setSlice(endpointSlice({ endpoints: [backend()] }), nine);
  let isWatched = false;
  const { targetsOf, publishedTargetsOf } = judgeOf(
    { prepare: async () => {}, evaluate: () => undefined },
    { lists, cluster: { watches: (resource) => resource !== 'endpointslices' || isWatched } },
  );
  const to = { address: '198.51.100.7', port: 80 };
  expect(targetsOf(serviceRef(api), to, 16)).toBeUndefined();
  expect(publishedTargetsOf(to, 16)).toBe('many');
  expect(publishedTargetsOf({ ...to, port: 81 }, 16)).toBeUndefined();
  isWatched = true;
  expect(targetsOf(serviceRef(api), to, 16)).toHaveLength(1);
  expect(publishedTargetsOf(to, 16)).toHaveLength(1);
});
