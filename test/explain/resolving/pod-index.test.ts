import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { timeTolerance } from '../../../src/explain/resolving/pod-changes.ts';
import { createPodIndex, holder, interfaceNames, isPodInterface } from '../../../src/explain/resolving/pod-index.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { nine, pod } from '../../builders.ts';
import { forAll } from '../../for-all.ts';
import { heapInUse } from '../../heap.ts';

const tables: { interfaces: [string, boolean][] } = {
  // Names of interfaces, and whether they are those of Pods.
  interfaces: [
    ['calic440f455693', true],
    ['enic440f455693', true],
    ['cali', false],
    ['calico', false],
    ['eth0', false],
    ['eni0', false],
    ['wireguard.cali', false],
    ['vxlan.calico', false],
    ['enp134s0f1np1v0', false],
    ['wlx00c0cab0a1b', false],
    ['wlx00c0cab0a1', false],
    ['tunl0', false],
    ['', false],
  ],
};

const addresses = ['10.65.1.4', '10.65.1.5', 'fd00:65::4'];
const names = ['web-0', 'web-1'];
const veths = names.flatMap((name) => interfaceNames('shop', name));

const offsets = fc.integer({ min: 0, max: 8 }).map((value) => nine + value * 1500);

const pods = fc.record({
  name: fc.constantFrom(...names),
  addresses: fc.subarray(addresses),
  node: fc.constantFrom('node-a', 'node-b', undefined),
  hostNetwork: fc.constantFrom(false, false, true),
  from: fc.oneof(offsets, fc.constant(-Infinity)),
  until: fc.oneof(offsets, fc.constant(Infinity)),
});

/** Pods are added, and each is removed again after this many others. */
const programs = fc.array(fc.tuple(pods, fc.integer({ min: 1, max: 12 })), { maxLength: 15 });

test('holds exactly the values added and not removed', () => {
  forAll([programs, fc.constantFrom(undefined, 'node-a'), offsets], { numRuns: 150 }, (program, ownNode, time) => {
    const index = createPodIndex(ownNode);
    const there = new Set<Pod>();
    const leaving = new Map<number, Pod[]>();
    for (let step = 0; step < program.length + 12; step++) {
      const [given, lasts] = program[step] ?? [undefined, 0];
      if (given) {
        const one = pod({ ...given, uid: `${step}` });
        index.add(one);
        there.add(one);
        leaving.set(step + lasts, [...(leaving.get(step + lasts) ?? []), one]);
      }
      for (const one of leaving.get(step) ?? []) {
        index.remove(one);
        there.delete(one);
      }
      const visible = [...there].filter(({ hostNetwork }) => !hostNetwork);
      expect(index.size).toBe(there.size);
      for (const address of addresses)
        expect(new Set(index.byAddress(address))).toEqual(
          new Set(visible.filter((each) => each.addresses.includes(address))),
        );
      for (const veth of veths)
        expect(new Set(index.byInterface(veth))).toEqual(
          new Set(
            visible.filter(
              (each) =>
                interfaceNames('shop', each.name).includes(veth) && (ownNode === undefined || each.node === ownNode),
            ),
          ),
        );
      const span = index.epoch(time);
      expect(span.from <= time && time < span.until).toBe(true);
      const changes = visible.flatMap(({ from, until }) => [from - timeTolerance, from, until]);
      expect(changes.filter((change) => change > span.from && change < span.until)).toEqual([]);
      // The first question looks at all Pods; later ones search what the second has sorted.
      const asked = Array.from({ length: 3 }, () => index.epoch(time));
      if (span.until < Infinity) expect(asked).toEqual([span, span, span]);
    }
    expect([...addresses.map(index.byAddress), ...veths.map(index.byInterface)].filter(Boolean)).toEqual([]);
  });
});

test('an epoch after all changes has no end', () => {
  const index = createPodIndex('node-a');
  for (let number = 0; number < 10; number++) index.add(pod({ name: `web-${number}`, from: nine + number * 1000 }));
  expect(index.epoch(nine + 9000)).toEqual({ from: nine + 9000, until: Infinity });
  expect(index.epoch(nine + 9000 - 1)).toEqual({ from: nine + 8000, until: nine + 9000 });
  expect(index.epoch(nine - timeTolerance - 1)).toEqual({ from: -Infinity, until: nine - timeTolerance });
});

test('the first epoch after a change of a Pod is found without a sort, which would take fifty milliseconds for 20,000 Pods', () => {
  using sort = vi.spyOn(Float64Array.prototype, 'toSorted');
  const index = createPodIndex('node-a');
  const askedAfter = (change: number, times: number): void => {
    index.add(pod({ name: `new-${change}`, from: nine + change * 10_000 }));
    for (let time = 0; time < times; time++)
      expect(index.epoch(nine + 10_000)).toEqual({
        from: nine + 10_000,
        until: change < 2 ? Infinity : nine + 20_000 - timeTolerance,
      });
  };
  for (let change = 1; change <= 20; change++) askedAfter(change, 1);
  expect(sort).not.toHaveBeenCalled();
  askedAfter(21, 3);
  expect(sort).toHaveBeenCalledOnce();
});

test('an epoch does not end where a deleted Pod once ended', () => {
  const index = createPodIndex('node-a');
  const gone = pod({ from: nine, until: nine + 5000 });
  index.add(gone);
  index.remove(gone);
  expect(index.epoch(nine + 1000)).toEqual({ from: -Infinity, until: Infinity });
});

test('removing an unknown value or a copy changes nothing', () => {
  const index = createPodIndex(undefined);
  const one = pod();
  index.add(one);
  index.remove(pod());
  index.remove({ ...one });
  expect([index.size, index.byAddress('10.65.1.4')]).toEqual([1, [one]]);
});

test('a removed Pod can be freed, whichever Pod had its address afterwards', async () => {
  const index = createPodIndex(undefined);
  const gone = Array.from({ length: 100 }, (_, number) => {
    const one = pod({ name: `web-${number % 3}`, uid: `${number}`, addresses: ['10.65.1.4', `10.65.2.${number}`] });
    index.add(one);
    index.add(pod({ name: 'next', uid: `next-${number}` }));
    index.epoch(nine);
    index.remove(one);
    return new WeakRef(one);
  });
  // Waits for the next turn of the event loop, because until then a new weak reference keeps its object alive.
  await heapInUse();
  expect(gone.filter((each) => each.deref() !== undefined)).toHaveLength(0);
  expect(index.byAddress('10.65.1.4')).toHaveLength(100);
});

const before = { name: 'before', uid: '1', from: nine - 10_000, until: nine - 5000 };
const now = { name: 'now', uid: '2', from: nine };

test.each([
  ['the present Pod, where it is the only one', [{ ...now, uid: '' }], 'now'],
  ['the present Pod, where the other one is the same Pod', [{ ...before, uid: '2' }, now], 'now'],
  ['the Pod of that time, where it is another one', [before, now], 'before'],
  [
    'the Pod of that time, where nobody knows whether it is another one',
    [
      { ...before, uid: '' },
      { ...now, uid: '' },
    ],
    'before',
  ],
  ['the Pod of that time, where none is present', [before], 'before'],
])('the holder of an address at an inexact time is %s', (_, given, expected) => {
  expect(holder(given.map(pod), { time: nine - 7000, exact: false })?.name).toBe(expected);
});

test('the holder of an address at an exact time is never a later Pod', () => {
  expect(holder([pod(now)], { time: nine - 7000, exact: true })).toBeUndefined();
});

test('gives the same names as Calico and the AWS VPC CNI', () => {
  expect(interfaceNames('default', 'nginx')).toEqual(['calic440f455693', 'enic440f455693']);
});

test.each(tables.interfaces)('%j is a Pod interface: %j', (name, expected) => {
  expect(isPodInterface(name)).toBe(expected);
});

test('every generated name is recognized and fits the kernel', () => {
  const made = interfaceNames('a-namespace-of-some-length', 'a-pod-with-a-rather-long-name-6c8d5f7b94-x2x7k');
  expect(made.map((name) => [isPodInterface(name), name.length <= 15])).toEqual([
    [true, true],
    [true, true],
  ]);
});
