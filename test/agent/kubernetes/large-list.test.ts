import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createKnownObjects, type ObjectName, type Store } from '../../../src/agent/kubernetes/list-watch.ts';
import { ranks, unlimitedMemory } from '../../../src/base/platform/memory-budget.ts';
import { inTurns } from '../../../src/base/platform/turns.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { nine, pod } from '../../builders.ts';

const listOf =
  (objects: readonly object[], resourceVersion: string) =>
  (take: (object: object) => void): Promise<string> =>
    inTurns(objects, take).then(() => resourceVersion);

function knownObjects<T extends ObjectName>(store: Store<T>) {
  return createKnownObjects<T>({
    slim: (object) => object as T,
    store,
    account: (leaveOut) => unlimitedMemory().open({ resource: 'pods', rank: ranks.pods, leaveOut }),
    weigh: () => 100,
  });
}

test('while a list of thousands of objects is stored, other work gets its turn, and the next watch begins after that', async () => {
  const stored: string[] = [];
  const known = knownObjects<ObjectName>({
    set: ({ name }) => void stored.push(name),
    delete: () => {},
    leaveOut: () => {},
  });
  const items = Array.from({ length: 600 }, (_, index) => ({ name: `web-${index}` }));
  const storing = known.replaceAll(listOf(items, '7'));
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

test('while thousands of objects that are gone are removed, other work gets its turn', async () => {
  const removed: string[] = [];
  const known = knownObjects<ObjectName>({
    set: () => {},
    delete: (_, name) => void removed.push(name),
    leaveOut: () => {},
  });
  const items = Array.from({ length: 600 }, (_, index) => ({ name: `web-${index}` }));
  await known.replaceAll(listOf(items, '7'));
  const replacing = known.replaceAll(() => Promise.resolve('8'));
  await nextTurn();
  expect(removed.length).toBeGreaterThan(0);
  expect(removed.length).toBeLessThan(600);
  await replacing;
  expect(removed).toHaveLength(600);
});

test.each([0, 300])(
  'while a list is stored, an address that changes hands always has an owner (%i)',
  async (position) => {
    let now = nine;
    const lists = createLiveLists('node-a', undefined);
    const known = knownObjects<Pod>({
      set: (each) => lists.setPod(each, now),
      delete: (namespace, name) => lists.removePod(namespace, name, now),
      leaveOut: lists.leaveOutPod,
    });
    const addresses = ['10.65.9.9'];
    const others = Array.from({ length: 300 }, (_, index) =>
      pod({ name: `web-${index}`, uid: `${index}`, addresses: [`10.66.${index >> 7}.${index & 127}`] }),
    );
    const owner = (): string | undefined =>
      lists.endpoints.byAddress('10.65.9.9', { time: now, exact: true }).object?.name;
    await known.replaceAll(listOf([pod({ name: 'old', uid: 'old', addresses })], '1'));
    now += 60_000;
    const successor = pod({ name: 'new', uid: 'new', addresses, from: now - 1000 });
    const storing = known.replaceAll(listOf(others.toSpliced(position, 0, successor), '2'));
    expect(owner()).toBe(position === 0 ? 'new' : 'old');
    await storing;
    expect(owner()).toBe('new');
    expect(lists.sizes.pods).toBe(301);
  },
);

test('a list that breaks off leaves what was there before', async () => {
  const stored = new Set<string>();
  const known = knownObjects<ObjectName>({
    set: ({ name }) => void stored.add(name),
    delete: (_, name) => void stored.delete(name),
    leaveOut: () => {},
  });
  await known.replaceAll(listOf([{ name: 'a' }, { name: 'b' }], '1'));
  known.expire();
  const broken = known.replaceAll((take) => {
    take({ name: 'c' });
    return Promise.reject(new Error('broken'));
  });
  await expect(broken).rejects.toThrow('broken');
  expect({ stored: [...stored], resourceVersion: known.resourceVersion }).toEqual({
    stored: ['a', 'b', 'c'],
    resourceVersion: '',
  });
});
