import { expect, test } from 'vitest';
import { createKnownObjects } from '../../src/kubernetes/list-watch.ts';
import { createLiveLists } from '../../src/resolving/live-lists.ts';
import type { Pod } from '../../src/resolving/objects.ts';
import { nine, pod } from '../builders.ts';

test('while a list of thousands of objects is stored, other work gets its turn, and the next watch begins after that', async () => {
  const stored: string[] = [];
  const store = { set: ({ name }: { name: string }) => void stored.push(name), delete: () => {} };
  const known = createKnownObjects<{ name: string }>(() => undefined, store);
  const items = Array.from({ length: 600 }, (_, index) => ({ name: `web-${index}` }));
  const storing = known.replaceAll({ items, resourceVersion: '7' });
  expect({ some: stored.length < 600, resourceVersion: known.resourceVersion }).toEqual({
    some: true,
    resourceVersion: '',
  });
  await storing;
  expect({ stored: stored.length, resourceVersion: known.resourceVersion }).toEqual({
    stored: 600,
    resourceVersion: '7',
  });
});

test.each([0, 300])(
  'while a list is stored, an address that has changed hands is never of nobody (%i)',
  async (position) => {
    let now = nine;
    const lists = createLiveLists('node-a', undefined);
    const known = createKnownObjects<Pod>(() => undefined, {
      set: (each) => lists.setPod(each, now),
      delete: (namespace, name) => lists.removePod(namespace, name, now),
    });
    const addresses = ['10.65.9.9'];
    const others = Array.from({ length: 300 }, (_, index) =>
      pod({ name: `web-${index}`, uid: `${index}`, addresses: [`10.66.${index >> 7}.${index & 127}`] }),
    );
    const owner = (): string | undefined =>
      lists.directory.byAddress('10.65.9.9', { time: now, exact: true }).object?.name;
    await known.replaceAll({ items: [pod({ name: 'old', uid: 'old', addresses })], resourceVersion: '1' });
    now += 60_000;
    const successor = pod({ name: 'new', uid: 'new', addresses, from: now - 1000 });
    const storing = known.replaceAll({ items: others.toSpliced(position, 0, successor), resourceVersion: '2' });
    expect(owner()).toBe(position === 0 ? 'new' : 'old');
    await storing;
    expect(owner()).toBe('new');
    expect(lists.sizes.pods).toBe(301);
  },
);
