import { vi } from 'vitest';
import type { Scene } from './fault.ts';
import { testFaults } from './suite.ts';

/** A real API server and its etcd, killed, hanging and started again: each row has its own. */

/** Attempts to write an Event that failed, whatever the answer. */
const failedWrites = (times: number) => (scene: Scene) =>
  scene.untilMetric(
    new RegExp(`api_requests_total\\{verb="(?:POST|PATCH)",resource="events",code="(?:0|50\\d)"\\} [${times}-9]`),
  );

/** The API server itself pauses before it tries its etcd again; the pause grows with the outage. */
async function startAgain({ controlPlane, order }: Scene, server: 'kube-apiserver' | 'etcd'): Promise<void> {
  await order('start', server);
  const answers = async (): Promise<boolean> =>
    (await controlPlane.request('GET', '/api/v1/namespaces')).status === 200;
  await vi.waitUntil(() => answers().catch(() => false), { timeout: 150_000, interval: 500 });
}

testFaults([
  {
    name: 'server',
    subnet: '10.111',
    rows: [
      {
        title: 'the API server is killed for longer than the longest back-off takes to be reached',
        own: true,
        begin: ({ order }) => order('kill', 'kube-apiserver'),
        lasts: failedWrites(7),
        end: (scene) => startAgain(scene, 'kube-apiserver'),
        problems: ['api server'],
      },
      {
        title: 'the API server hangs',
        own: true,
        begin: ({ order }) => order('pause', 'kube-apiserver'),
        lasts: failedWrites(1),
        end: ({ order }) => order('resume', 'kube-apiserver'),
        problems: ['api server'],
      },
      {
        title: 'etcd is killed while the API server is alive',
        own: true,
        begin: ({ order }) => order('kill', 'etcd'),
        lasts: failedWrites(2),
        end: (scene) => startAgain(scene, 'etcd'),
        problems: ['api server'],
      },
    ],
  },
]);
