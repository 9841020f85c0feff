import { setTimeout as delay } from 'node:timers/promises';
import { vi } from 'vitest';
import type { Millis } from '../../../src/model/log-line.ts';
import type { Scene } from './fault.ts';
import { testFaults } from './suite.ts';

/** A real API server and its etcd, killed, hanging and started again: each row has its own. */

const own = { flags: [] };
const minute: Millis = 60_000;

/** Attempts to write an Event that came to nothing, whatever the answer. */
const failedWrites = (times: number) => (scene: Scene) =>
  scene.untilMetric(
    new RegExp(`api_requests_total\\{verb="(?:POST|PATCH)",resource="events",code="(?:0|50\\d)"\\} [${times}-9]`),
  );

/** The API server itself pauses for up to two minutes before it tries its etcd again. */
async function untilAnswers({ controlPlane }: Scene): Promise<void> {
  const answers = async (): Promise<boolean> =>
    (await controlPlane.request('GET', '/api/v1/namespaces')).status === 200;
  await vi.waitUntil(() => answers().catch(() => false), { timeout: 150_000, interval: 500 });
}

testFaults({ name: 'server', subnet: '10.111' }, [
  {
    title: 'the API server is killed for longer than the longest back-off takes to be reached',
    own,
    begin: ({ order }) => order('kill', 'kube-apiserver'),
    lasts: failedWrites(7),
    end: ({ order }) => order('start', 'kube-apiserver'),
    problems: ['api server'],
  },
  {
    title: 'the API server hangs',
    own,
    begin: ({ order }) => order('pause', 'kube-apiserver'),
    lasts: failedWrites(1),
    end: ({ order }) => order('resume', 'kube-apiserver'),
    problems: ['api server'],
  },
  {
    title: 'etcd is killed for a minute while the API server is alive',
    own,
    begin: ({ order }) => order('kill', 'etcd'),
    lasts: (scene) => Promise.all([failedWrites(2)(scene), delay(minute)]),
    async end(scene) {
      await scene.order('start', 'etcd');
      await untilAnswers(scene);
    },
    problems: ['api server'],
  },
  {
    title: 'etcd hangs',
    own,
    begin: ({ order }) => order('pause', 'etcd'),
    lasts: failedWrites(1),
    end: ({ order }) => order('resume', 'etcd'),
    problems: ['api server'],
  },
]);
