/** The wording of what the agent logs of the API server. The other tests assert levels, keys, fields and counts only. */
import { expect, test } from 'vitest';
import { noProblems } from '../../src/agent/api-problems.ts';
import { createProblems, type Problems } from '../../src/agent/problems.ts';
import type { Refusal } from '../../src/events/event-store.ts';
import { createRateLimitedLog } from '../../src/telemetry/rate-limited-log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { attempt, nine, series } from '../builders.ts';
import { fakeLog } from '../telemetry/fake-log.ts';

const refused = (status: number, message: string): Refusal => ({
  kind: 'refused',
  status,
  reason: '',
  message,
  retryAfter: undefined,
});
let isListed = true;
const later = 'it is tried again every ten minutes, and counted on meanwhile';

test.each<[string, (api: Problems['api']) => void, string[]]>([
  [
    'a clock that is ahead, and right again',
    (api) => {
      api.clock(37_000);
      api.clock(0);
    },
    [
      "This node's clock is 37 s ahead of the API server's: times and ages of Events are off by as much, and exporters may ignore them",
      "This node's clock agrees with the API server's again",
    ],
  ],
  [
    'a clock that is behind',
    (api) => api.clock(-3_600_000),
    [
      "This node's clock is 3600 s behind the API server's: times and ages of Events are off by as much, and exporters may ignore them",
    ],
  ],
  [
    'a Node that is not there, and then is',
    (api) => {
      api.node('node-x', false, []);
      api.node('node-x', true, []);
    },
    ['There is no Node node-x: no Pod is known to run here. Is NODE_NAME right?', 'There is a Node node-x now'],
  ],
  [
    'a right that is missing, and then is not',
    (api) => {
      api.informer('pods', { verb: 'list', refusal: refused(403, 'no') });
      api.synced('pods');
    },
    [
      'Missing right: list pods; grant it with the ClusterRole in deploy/base/rbac.yaml',
      'The right to list pods is there now',
    ],
  ],
  [
    'an API server that is away, and answers again',
    (api) => {
      api.informer('pods', { verb: 'list', refusal: refused(0, 'no') });
      api.synced('pods');
    },
    ['The API server does not answer: waiting for it, and counting meanwhile', 'The API server answers again'],
  ],
  [
    'an API server that is away before it has listed anything',
    (api) => {
      isListed = false;
      api.informer('pods', { verb: 'list', refusal: refused(0, 'no') });
    },
    [
      'The API server does not answer: waiting for it, and keeping packets meanwhile. They are counted once it has listed Pods, Nodes and Services',
    ],
  ],
  [
    'an API server that fails',
    (api) => api.informer('pods', { verb: 'list', refusal: refused(503, 'no') }),
    ['The API server refuses to list pods for now: it fails (503)'],
  ],
  [
    'an API server that throttles, and then does not',
    (api) => {
      api.informer('pods', { verb: 'list', refusal: refused(429, 'no') });
      api.synced('pods');
    },
    ['The API server refuses to list pods for now: too many requests (429)', 'The API server throttles us no longer'],
  ],
  [
    'what the API server does not have, and then has',
    (api) => {
      api.informer('endpointslices', { verb: 'list', refusal: refused(404, 'no') });
      api.synced('endpointslices');
    },
    ['The API server refuses to list endpointslices for now', 'endpointslices can be read again'],
  ],
  [
    'a token that is refused, and then accepted',
    (api) => {
      api.informer('pods', { verb: 'list', refusal: refused(401, 'no') });
      api.synced('pods');
    },
    [
      'The API server does not accept our token (401): it is read again and tried again',
      'The API server accepts our token again',
    ],
  ],
  [
    'a shared directory that is away, and answers again',
    (api) => {
      api.directory(new Error('no'));
      api.directory(undefined);
    },
    [
      'The shared directory does not answer: Pods of other nodes stay bare addresses meanwhile',
      'The shared directory answers again',
    ],
  ],
  [
    'a watch that is silent, and is heard of again',
    (api) => {
      api.informer('pods', { verb: 'watch', refusal: undefined, silent: true });
      api.synced('pods');
    },
    ['The watch of pods was silent and is started again', 'What is watched is heard of again'],
  ],
  [
    'an object that cannot be used',
    (api) => api.unusable('pods', new Error('no name')),
    ['One of the pods cannot be used and is left out'],
  ],
  [
    'more objects than are watched',
    (api) => api.tooMany('services', 6000, 5000),
    ['There are 6000 services, more than 5000: none is watched; their addresses stay addresses'],
  ],
  [
    'an Event that is refused for good',
    (api) => api.write(attempt('create', 'invalid', series(), refused(422, 'no'))),
    ['The API server refuses an Event for good; it is given up'],
  ],
  [
    'an Event that failed, and then is written',
    (api) => {
      api.write(attempt('create', 'failed', series(), { ...refused(500, 'no'), reason: 'InternalError' }));
      api.write(attempt('create', 'ok', series(), undefined));
    },
    ['The API server failed on an Event; it is tried again every minute', 'The API server fails on Events no longer'],
  ],
  ...(
    [
      ['admission webhook "x" denied the request: no', 'An admission webhook denies', 'an admission webhook denied'],
      [
        "ValidatingAdmissionPolicy 'p' denied request: no",
        'A ValidatingAdmissionPolicy denies',
        'a ValidatingAdmissionPolicy denied',
      ],
      ['exceeded quota: small', 'A ResourceQuota has no room for', 'a ResourceQuota had no room for'],
      ['not here', "The API server's admission denies", "the API server's admission denied"],
    ] as const
  ).map(([answer, denies, denied]): [string, (api: Problems['api']) => void, string[]] => [
    answer,
    (api) => {
      const message = answer.startsWith('admission') ? answer : `events "a" is forbidden: ${answer}`;
      api.write(attempt('create', 'denied', series(), refused(403, message)));
      api.write(attempt('create', 'ok', series(), undefined));
    },
    [`${denies} an Event; ${later}`, `Events are written again that ${denied}`],
  ]),
])('the log of the agent says it of: %s', (_, act, expected) => {
  let now = nine;
  isListed = true;
  const { log, entries } = fakeLog();
  const rateLimitedLog = createRateLimitedLog(log, { now: () => nine });
  const metrics = createMetrics({ version: '1' });
  const { api } = createProblems({
    log,
    rateLimitedLog,
    metrics,
    counts: noProblems(),
    now: () => now,
    server: () => 'https://api',
    isListed: () => isListed,
  });
  act(api);
  now += 60_000;
  api.settle();
  expect(entries.filter(({ level }) => level !== 'debug').map(({ text }) => text)).toEqual(expected);
});

test('a state that is changed on disk, a disk that does not keep it, and then does', () => {
  const { log, entries } = fakeLog();
  const rateLimitedLog = createRateLimitedLog(log, { now: () => nine });
  const metrics = createMetrics({ version: '1' });
  const problems = createProblems({
    log,
    rateLimitedLog,
    metrics,
    counts: noProblems(),
    now: () => nine,
    server: () => '',
    isListed: () => true,
  });
  problems.state('lost', 'state-1.log was removed');
  problems.state('save', new Error('full'));
  problems.stateSaved();
  expect(entries.map(({ text }) => text)).toEqual([
    'What was kept on disk is no longer as it was written: state-1.log was removed. All of it is written again',
    'Positions and counts cannot be kept on disk: if this program is killed now, packets may be counted twice or not at all',
    'Positions and counts are kept on disk again',
    'All of the state is on disk again',
  ]);
});
