/** The wording of the agent's log about the API server. The other tests assert levels, keys, fields and counts only. */
import { expect, test } from 'vitest';
import type { Problems } from '../../src/agent/problems.ts';
import { strangeAnswer } from '../../src/agent/kubernetes/refusals.ts';
import { attempt, series } from '../builders.ts';
import { expectLines } from '../expected-file.ts';
import { createProblemsScene, refused } from './problems-scene.ts';

let isListed = true;

const informer = (api: Problems['api'], resource: 'pods' | 'endpointslices', status: number): void =>
  api.watchFailed(resource, { verb: 'list', refusal: refused(status, 'no') });

/** The event, and what ends it. */
const told: [title: string, act: (api: Problems['api']) => void, over?: (api: Problems['api']) => void][] = [
  ['a clock that is ahead, and right again', (api) => api.clock(37_000), (api) => api.clock(0)],
  ['a clock that is behind', (api) => api.clock(-3_600_000)],
  [
    'a Node that is not there, and then is',
    (api) => api.node('node-x', false, []),
    (api) => api.node('node-x', true, []),
  ],
  ['a right that is missing, and then is not', (api) => informer(api, 'pods', 403), (api) => api.synced('pods')],
  ['an API server that is away, and answers again', (api) => informer(api, 'pods', 0), (api) => api.synced('pods')],
  [
    'an API server that is away before it has listed anything',
    (api) => {
      isListed = false;
      informer(api, 'pods', 0);
    },
  ],
  [
    'a proxy in place of the API server, which then answers again',
    (api) => api.watchFailed('pods', { verb: 'list', refusal: strangeAnswer(404, '<html>') }),
    (api) => api.synced('pods'),
  ],
  ['an API server that fails', (api) => informer(api, 'pods', 503)],
  ['an API server that throttles, and then does not', (api) => informer(api, 'pods', 429), (api) => api.synced('pods')],
  [
    'a kind that the API server lacks, and then has',
    (api) => informer(api, 'endpointslices', 404),
    (api) => api.synced('endpointslices'),
  ],
  ['a token that is refused, and then accepted', (api) => informer(api, 'pods', 401), (api) => api.synced('pods')],
  [
    'a shared directory that is away, and answers again',
    (api) => api.directory(new Error('no')),
    (api) => api.directory(undefined),
  ],
  [
    'a watch that is silent, and is heard of again',
    (api) => api.watchFailed('pods', { verb: 'watch', refusal: undefined, silent: true }),
    (api) => api.synced('pods'),
  ],
  ['an object that cannot be used', (api) => api.unusable('pods', new Error('no name'))],
  ['more objects than are watched', (api) => api.tooMany('services', 6000, 5000)],
  [
    'an Event that is refused for good',
    (api) => api.attempted(attempt('create', 'invalid', series(), refused(422, 'no'))),
  ],
  [
    'an Event whose names others have taken',
    (api) => api.attempted({ verb: 'read', result: 'foreign', series: series(), packets: 0, refusal: undefined }),
  ],
  [
    'an Event that failed, and then is written',
    (api) => api.attempted(attempt('create', 'failed', series(), { ...refused(500, 'no'), reason: 'InternalError' })),
    (api) => api.attempted(attempt('create', 'ok', series(), undefined)),
  ],
  ...[
    'admission webhook "x" denied the request: no',
    'events "a" is forbidden: ValidatingAdmissionPolicy \'p\' denied request: no',
    'events "a" is forbidden: exceeded quota: small',
    'events "a" is forbidden: not here',
  ].map((answer): (typeof told)[number] => [
    answer,
    (api) => api.attempted(attempt('create', 'denied', series(), refused(403, answer))),
    (api) => api.attempted(attempt('create', 'ok', series(), undefined)),
  ]),
];

test('the log of the agent has the expected words for the API server', async () => {
  const said = told.map(([title, act, over]) => {
    isListed = true;
    const { problems, entries, clock } = createProblemsScene(() => isListed);
    act(problems.api);
    over?.(problems.api);
    clock.now += 60_000;
    problems.api.settle();
    const texts = entries.filter(({ level }) => level !== 'debug').map(({ text }) => `  ${text}\n`);
    return `${title}:\n${texts.join('')}`;
  });
  await expectLines(import.meta.dirname, 'api.expected.txt', said);
});

test('a state that is changed on disk, and a disk that fails and then works', () => {
  const { problems, entries } = createProblemsScene();
  problems.state.lost('state-1.log was removed');
  problems.state.failed(new Error('full'));
  problems.state.saved(1);
  expect(entries.map(({ text }) => text)).toEqual([
    'The saved state is no longer as the agent wrote it: state-1.log was removed. All of it is written again',
    'Positions and counts cannot be kept on disk: if this program is killed now, packets may be counted twice or not at all',
    'Positions and counts are kept on disk again',
    'All of the state is on disk again',
  ]);
});
