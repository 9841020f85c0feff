import { type Scene, testFaults } from './suite.ts';

/** A real API server and its etcd, killed, hanging and started again: each row has its own. */

const own = { flags: [] };

/** Attempts to write an Event that came to nothing, whatever the answer. */
const failedWrites = (times: number) => (scene: Scene) =>
  scene.untilMetric(
    new RegExp(`api_requests_total\\{verb="(?:POST|PATCH)",resource="events",code="(?:0|50\\d)"\\} [${times}-9]`),
  );

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
    title: 'etcd is killed',
    own,
    begin: ({ order }) => order('kill', 'etcd'),
    lasts: failedWrites(2),
    end: ({ order }) => order('start', 'etcd'),
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
