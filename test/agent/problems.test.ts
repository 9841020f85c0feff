import { beforeEach, expect, test } from 'vitest';
import { attempt, nine, series } from '../builders.ts';
import { isFailedRequest } from '../../src/agent/problems.ts';
import { createProblemsScene, refused } from './problems-scene.ts';

let { problems, entries, metrics, clock } = createProblemsScene();

beforeEach(() => {
  ({ problems, entries, metrics, clock } = createProblemsScene());
});

test.each([37_000, -3_600_000])('a clock that is %i ms off is logged once, and its correction once', (skew) => {
  problems.api.clock(skew);
  problems.api.clock(skew);
  expect(keys()).toEqual(['clock']);
  expect(entries[0]).toMatchObject({ level: 'warn', fields: { skewSeconds: skew / 1000 } });
  problems.api.clock(400);
  expect(keys()).toEqual(['clock', 'over: clock']);
});

test.each([undefined, 0, 4999, -5000])('a clock that is %s ms off is no problem', (skew) => {
  problems.api.clock(skew);
  expect(entries).toEqual([]);
});

test.each([
  ['GET', 200, false],
  ['GET', 403, false],
  ['GET', 404, false],
  ['GET', 0, true],
  ['GET', 429, true],
  ['GET', 500, true],
  ['POST', 403, true],
  ['POST', 404, true],
  ['PATCH', 409, true],
])('%s with the answer %i is a failed request: %s', (verb, code, expected) => {
  expect(isFailedRequest({ verb, code })).toBe(expected);
});

test('a source that cannot be read is logged once, and its recovery once, each time', () => {
  const unreadable = { level: 'error', key: 'unreadable', text: 'a' } as const;
  const well = { level: 'info', key: 'well', text: 'b' } as const;
  for (let time = 0; time < 2; time++) {
    for (const notice of [unreadable, unreadable, well]) problems.source('/a.log', notice);
    expect(keys().splice(2 * time)).toEqual(['source /a.log unreadable', 'over: source /a.log unreadable']);
  }
  problems.source('/b.log', well);
  expect(keys().at(-1)).toBe('source /b.log well');
});

test('each file of a source has its own problems, which end separately', () => {
  const unreadable = { level: 'error', key: 'unreadable', text: 'a' } as const;
  for (const of of ['/a', '/b']) problems.source('containers', { ...unreadable, of });
  problems.source('containers', { level: 'info', key: 'well', text: 'b', of: '/b' });
  expect(keys()).toEqual([
    'source containers unreadable /a',
    'source containers unreadable /b',
    'over: source containers unreadable /b',
  ]);
});

test('a missing Node is logged together with some that exist', () => {
  problems.api.node('node-x', false, ['node-a', 'node-b']);
  problems.api.node('node-x', true, []);
  expect(keys()).toEqual(['node', 'over: node']);
  expect(entries[0]).toMatchObject({ level: 'error', fields: { nodes: ['node-a', 'node-b'] } });
});

test('a missing right is named once, and shown as long as it is missing', async () => {
  const refusal = refused(403, 'pods is forbidden: User "x" cannot list resource "pods"');
  for (let time = 0; time < 3; time++) problems.api.watchFailed('pods', { verb: 'list', refusal });
  expect(keys()).toEqual(['right list pods']);
  expect(entries).toMatchObject([{ level: 'error', fields: { verb: 'list', resource: 'pods' } }]);
  expect(await metrics.text()).toContain('missing_permission{verb="list",resource="pods"} 1');
  problems.api.synced('pods');
  expect(keys()[1]).toBe('over: right list pods');
  expect(await metrics.text()).toContain('missing_permission{verb="list",resource="pods"} 0');
  expect(problems.counts.watchRestarts).toBe(3);
});

test('a right that is missing in one namespace is one problem, even if Events in other namespaces are written meanwhile', async () => {
  const refusal = refused(
    403,
    'events is forbidden: User "x" cannot create resource "events" in the namespace "other"',
  );
  const other = ofNamespace('other');
  for (let time = 0; time < 3; time++) {
    problems.api.attempted(attempt('create', 'forbidden', other, refusal));
    problems.api.attempted(attempt('create', 'ok', series(), undefined));
  }
  expect(keys()).toEqual(['right create events']);
  expect(await metrics.text()).toContain('missing_permission{verb="create",resource="events"} 1');
  problems.api.attempted(attempt('create', 'ok', other, undefined));
  expect(keys().slice(1)).toEqual(['over: right create events']);
  expect(await metrics.text()).toContain('missing_permission{verb="create",resource="events"} 0');
});

test.each(['terminating', 'gone', 'invalid'] as const)(
  'a right counts as granted again when an Event of its namespace is %s',
  (result) => {
    problems.api.attempted(attempt('create', 'forbidden', series(), refused(403, 'events is forbidden')));
    problems.api.attempted(attempt('create', result, series(), refused(404, 'namespaces "shop" not found')));
    expect(keys()).toContain('over: right create events');
  },
);

test('a shared directory that fails now and then is one problem, which ends after a while without failures', () => {
  for (let time = 0; time < 5; time++) {
    problems.api.directory(new Error('answers 503'));
    problems.api.directory(undefined);
    clock.now += 19_000;
    problems.api.settle();
  }
  expect(keys()).toEqual(['directory']);
  clock.now += 1000;
  problems.api.settle();
  expect(keys()).toEqual(['directory', 'over: directory']);
});

test('a server that is away is one problem, whatever the requests', () => {
  const refusal = refused(0, 'connect ECONNREFUSED');
  problems.api.watchFailed('pods', { verb: 'list', refusal });
  problems.api.watchFailed('nodes', { verb: 'watch', refusal });
  problems.api.attempted(attempt('create', 'unavailable', series(), refusal));
  expect(keys()).toEqual(['api server']);
  problems.api.attempted(attempt('create', 'ok', series(), undefined));
  problems.api.synced('pods');
  expect(keys()).toHaveLength(1);
  clock.now += 60_000;
  problems.api.settle();
  expect(keys()).toHaveLength(1);
  problems.api.synced('nodes');
  problems.api.settle();
  expect(keys()).toEqual(['api server', 'over: api server']);
  expect(problems.counts).toMatchObject({ eventsWritten: 1, eventWritesFailed: 1 });
});

test('a silent watch is not a separate problem while the server is away or was away a moment ago', () => {
  const silence = (): void => problems.api.watchFailed('pods', { verb: 'watch', refusal: undefined, silent: true });
  problems.api.watchFailed('nodes', { verb: 'watch', refusal: refused(0, 'The operation was aborted due to timeout') });
  silence();
  problems.api.synced('nodes');
  silence();
  clock.now += 60_000;
  problems.api.settle();
  expect(keys()).toEqual(['api server', 'over: api server']);
  silence();
  expect(keys().slice(2)).toEqual(['silence']);
});

test('a server that refuses now and then is one problem, which ends after a while without refusals', () => {
  for (let time = 0; time < 5; time++) {
    problems.api.attempted(attempt('create', 'throttled', series(), refused(429, 'too many')));
    problems.api.attempted(attempt('create', 'ok', series(), undefined));
    clock.now += 19_000;
    problems.api.settle();
  }
  expect(keys()).toEqual(['throttled']);
  clock.now += 1000;
  problems.api.settle();
  expect(keys()).toEqual(['throttled', 'over: throttled']);
});

test('a returning server that does not know rights yet causes a problem only if it refuses once more', () => {
  problems.api.watchFailed('nodes', { verb: 'watch', refusal: refused(0, 'connect ECONNREFUSED') });
  const refusal = refused(403, 'nodes is forbidden: User "x" cannot watch resource "nodes"');
  problems.api.watchFailed('nodes', { verb: 'watch', refusal });
  expect(keys()).toEqual(['api server']);
  clock.now += 10_000;
  problems.api.watchFailed('nodes', { verb: 'watch', refusal });
  expect(keys().slice(1)).toEqual(['right watch nodes']);
});

test('a missing right is named even if the server keeps failing on other requests', () => {
  const refusal = refused(403, 'nodes is forbidden: User "x" cannot watch resource "nodes"');
  for (let time = 0; time < 3; time++) {
    problems.api.attempted(attempt('create', 'unavailable', series(), refused(503, 'not now')));
    problems.api.watchFailed('nodes', { verb: 'watch', refusal });
    clock.now += 30_000;
  }
  expect(keys()).toEqual(['api server', 'right watch nodes']);
});

test('an Event that admission keeps rejecting neither causes nor prolongs a failure of the server', () => {
  const failing = (): void =>
    problems.api.attempted(
      attempt('create', 'failed', series(), { ...refused(500, 'failed calling webhook'), reason: 'InternalError' }),
    );
  failing();
  problems.api.watchFailed('pods', { verb: 'watch', refusal: refused(500, 'etcdserver: request timed out') });
  failing();
  problems.api.synced('pods');
  clock.now += 60_000;
  failing();
  problems.api.settle();
  expect(keys()).toEqual(['event failed', 'api server', 'over: api server']);
});

test('an Event that is refused for good is logged with the answer of the server', () => {
  problems.api.attempted(attempt('create', 'invalid', series(), refused(422, 'Event is invalid')));
  const fields = { answer: 'Event is invalid', object: expect.stringContaining('Pod ') };
  expect(entries).toMatchObject([{ level: 'error', fields }]);
});

test.each([
  ['admission webhook "x" denied the request: no', 'webhook'],
  [`events "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no`, 'policy'],
  ['events "a" is forbidden: exceeded quota: small, requested: count/events=1', 'quota'],
  ['events "a" is forbidden: not here', 'admission'],
])('%s: is not a missing right, but denied by %s', async (message, denier) => {
  problems.api.attempted(
    attempt('create', 'forbidden', series(), refused(403, 'events is forbidden: User "x" cannot create')),
  );
  for (let time = 0; time < 3; time++)
    problems.api.attempted(attempt('create', 'denied', series(), refused(403, message)));
  expect(keys().slice(1)).toEqual(['over: right create events', `event denied by ${denier}`]);
  expect(entries.at(-1)).toMatchObject({ level: 'error', fields: { answer: message } });
  const shown = await metrics.text();
  expect(shown).toContain('missing_permission{verb="create",resource="events"} 0');
  expect(shown).toContain('event_writes_total{verb="create",result="denied"} 3');
});

test('losses of a log are counted by their unit', async () => {
  problems.lost('/dev/kmsg', { count: 7, unit: 'records', time: nine, reason: '7 records are lost' });
  problems.lost('/var/log/kern.log', { count: undefined, unit: 'bytes', time: nine, reason: 'truncated' });
  expect(entries.map(({ text }) => text)).toEqual(['7 records are lost', 'truncated']);
  expect(problems.counts).toMatchObject({ recordsLost: 7, bytesLost: 1 });
  expect(await metrics.text()).toContain('lost_records_total{source="/dev/kmsg"} 7');
});

function ofNamespace(namespace: string): ReturnType<typeof series> {
  const { finding, ...rest } = series();
  return { ...rest, finding: { ...finding, regarding: { ...finding.regarding, namespace } } };
}

/** Returns the keys of the problems that were logged or are over, in order. */
function keys(): string[] {
  const about = entries.map(({ fields }) => fields).filter((fields) => 'problem' in fields);
  return about.map((fields) => `${'reports' in fields ? 'over: ' : ''}${String(fields['problem'])}`);
}
