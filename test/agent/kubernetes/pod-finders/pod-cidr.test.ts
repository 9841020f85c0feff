import { expect, test } from 'vitest';
import { createPodCidrFinder } from '../../../../src/agent/kubernetes/pod-finders.ts';
import { nine } from '../../../builders.ts';
import { fakeApi, podObject } from './fake-api.ts';

const ofNode = '/api/v1/pods?spec.nodeName=node-b';

function scene(followed: boolean | undefined = true) {
  const clock = { now: nine };
  const host = { ...podObject('proxy', ['192.168.7.12']), spec: { nodeName: 'node-b', hostNetwork: true } };
  const api = fakeApi({
    [ofNode]: {
      items: [podObject('db-0', ['10.65.2.9', 'fd00:65:2::9']), podObject('db-1', ['10.65.2.10']), host, null],
    },
  });
  const ranges = {
    homeOf: (address: string) => (/^(?:10\.65\.2\.|fd00:65:2:)/.test(address) ? 'node-b' : undefined),
    followed: () => followed,
  };
  return {
    api,
    clock,
    finder: createPodCidrFinder({
      connection: api,
      ranges,
      clock: { now: () => clock.now, fromWall: (stamp) => stamp },
    }),
  };
}

test('an address is looked up together with all Pods of the node in whose range it lies', async () => {
  const { api, finder } = scene();
  for (const address of ['10.65.2.9', 'fd00:65:2::9'])
    await expect(finder.find(address, 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }, { name: 'db-1' }] });
  expect(api.asked()).toEqual([ofNode]);
});

test('an address that no Pod of that node has is left to other finders, and does not cost a list each time', async () => {
  const { api, clock, finder } = scene();
  for (let host = 100; host < 200; host++)
    await expect(finder.find(`10.65.2.${host}`, 'shop')).resolves.toBeUndefined();
  expect(api.asked()).toEqual([ofNode]);
  clock.now += 30_000;
  await finder.find('10.65.2.100', 'shop');
  expect(api.asked()).toEqual([ofNode]);
});

test.each([
  ['in no range', true, '192.168.7.12'],
  ['where the network plugin does not follow the ranges', false, '10.65.2.9'],
])('an address %s has no owner, without a request', async (_, followed, address) => {
  const { api, finder } = scene(followed);
  await expect(finder.find(address, 'shop')).resolves.toBeUndefined();
  expect(api.asked()).toEqual([]);
});

test('a list that fails is asked for again', async () => {
  const { api, finder } = scene();
  const whole = api.objects[ofNode];
  api.objects[ofNode] = 500;
  await expect(finder.find('10.65.2.9', 'shop')).rejects.toThrow('status 500');
  api.objects[ofNode] = whole;
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toBeDefined();
});

test('each answer has its own Pods: a change to one does not affect the next', async () => {
  const { finder } = scene();
  const first = await finder.find('10.65.2.9', 'shop');
  for (const pod of first?.pods ?? []) pod.from = -1;
  const second = await finder.find('10.65.2.9', 'shop');
  expect(second?.pods.map(({ from }) => from)).not.toContain(-1);
  expect(second?.pods).toHaveLength(2);
});
