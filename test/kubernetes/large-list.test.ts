import { expect, test, vi } from 'vitest';
import { createKnownObjects } from '../../src/kubernetes/list-watch.ts';

test('while a list of thousands of objects is stored, other work gets its turn, and the next watch begins after that', async () => {
  let millis = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => millis++);
  const stored: string[] = [];
  const store = { set: ({ name }: { name: string }) => void stored.push(name), delete: () => {} };
  const known = createKnownObjects<{ name: string }>(() => undefined, store);
  const items = Array.from({ length: 600 }, (_, index) => ({ name: `web-${index}` }));
  const storing = known.replaceAll({ items, resourceVersion: '7' });
  expect({ some: stored.length < 10, resourceVersion: known.resourceVersion }).toEqual({
    some: true,
    resourceVersion: '',
  });
  await storing;
  vi.restoreAllMocks();
  expect({ stored: stored.length, resourceVersion: known.resourceVersion }).toEqual({
    stored: 600,
    resourceVersion: '7',
  });
});
