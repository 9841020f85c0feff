import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { LiveFlows } from '../../src/audit/live-flows.ts';
import { connect } from './control-plane/connection.ts';
import { createLiveDropsRig, type LiveDropsRig } from './live-drops-rig.ts';

/** /drops of an agent, by the proxy of a real API server, with the rights of deploy/components/live-drops. */

let rig: LiveDropsRig;

beforeAll(async () => {
  rig = await createLiveDropsRig(connect(inject('controlPlane')));
});
afterAll(() => rig.stop());

async function flows(): Promise<LiveFlows> {
  const { code, stdout, stderr } = await rig.ask(rig.viewer, '/drops');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as LiveFlows;
}

test('who has the Role sees what was dropped, by flow', async () => {
  rig.drop(5432, 3);
  rig.drop(80);
  await expect.poll(async () => (await flows()).flows.length, { timeout: 60_000 }).toBe(2);
  await expect
    .poll(
      async () =>
        (await flows()).flows.toSorted((a, b) => Number(a['destination.port']) - Number(b['destination.port'])),
      {
        timeout: 60_000,
      },
    )
    .toMatchObject([
      { 'destination.port': 80, 'network.packets': 1 },
      {
        'event.action': 'dropped',
        'source.k8s.namespace.name': rig.namespace,
        'source.k8s.pod.name': 'web',
        'destination.k8s.pod.name': 'db',
        'destination.port': 5432,
        'network.transport': 'tcp',
        'network.packets': 3,
      },
    ]);
  expect(await flows()).toMatchObject({ version: 1, forgotten: 0 });
});

test('who has it not sees nothing: the API server refuses', async () => {
  const { code, stdout, stderr } = await rig.ask(rig.stranger, '/drops');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('pods/proxy');
});

test('the port of the flows has no metrics, and that of the metrics has no flows', async () => {
  expect((await rig.ask(rig.viewer, '/metrics')).code).toBe(1);
  expect(await rig.agent.get('/drops')).toMatchObject({ status: 404 });
});
