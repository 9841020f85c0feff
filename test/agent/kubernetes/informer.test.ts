import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Connection, createConnection } from '../../../src/agent/kubernetes/connection.ts';
import type { Access } from '../../../src/agent/kubernetes/http.ts';
import { createInformer, type Informer, type InformerProblem } from '../../../src/agent/kubernetes/informer.ts';
import { slimPod } from '../../../src/agent/kubernetes/slim.ts';
import {
  createMemoryBudget,
  type MemoryBudget,
  ranks,
  unlimitedMemory,
} from '../../../src/base/platform/memory-budget.ts';
import { createSteadyClock } from '../../../src/base/platform/clock.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { type Asked, json, refuse, type ScriptedServer, sendEvent, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
/** Answers to the requests, in order; the last one is given again. */
let script: ((asked: Asked) => void)[];
let informer: Informer;
let connection: Connection;
let access: Access;
let heard: EventEmitter;
let seen: string[];
let problems: InformerProblem[];

beforeEach(async () => {
  // With 0, jitter makes each pause 0.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  server = await startScriptedServer((asked) => (script.length > 1 ? script.shift() : script[0])?.(asked));
  heard = new EventEmitter().setMaxListeners(0);
  [seen, problems] = [[], []];
});

afterEach(async () => {
  informer.stop();
  await server.stop();
  vi.restoreAllMocks();
});

interface Options {
  pageSize?: number;
  fieldSelector?: string;
  silence?: number;
  /** How long the informer waits for an answer. */
  timeout?: number;
  pause?: (duration: number) => Promise<void>;
  memory?: MemoryBudget;
  now?: () => number;
}

function start(options: Options = {}): void {
  // Each start has its own lists: an informer that was stopped may still report something during the next test.
  const [ownSeen, ownProblems, ownHeard] = [seen, problems, heard];
  const note = (what: string): void => {
    ownSeen.push(what);
    ownHeard.emit('heard');
  };
  connection = createConnection({
    access: (access = server.access()),
    userAgent: 'test',
    onRequest: () => {},
    clock: createSteadyClock(),
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
  });
  informer = createInformer<Pod>({
    connection,
    resource: 'pods',
    fieldSelector: options.fieldSelector,
    pageSize: options.pageSize,
    slim: slimPod,
    store: {
      set: ({ name, resourceVersion }) => note(`set ${name} ${resourceVersion}`),
      delete: (_, name) => note(`delete ${name}`),
      leaveOut: (_, name) => note(`leave out ${name}`),
    },
    weigh: ({ workload }) => workload?.name.length ?? 0,
    memory: options.memory ?? unlimitedMemory(),
    rank: ranks.pods,
    report: {
      unusable: () => note('unusable'),
      watchFailed(_, problem) {
        ownProblems.push(problem);
        note(`problem ${problem.verb} ${problem.refusal?.status ?? 'silence'}`);
      },
      synced: () => note('synced'),
    },
    now: options.now ?? Date.now,
    random: () => Math.random(),
    silence: options.silence,
    pause: options.pause,
  });
  informer.start();
}

async function until(what: string): Promise<void> {
  while (!seen.includes(what)) await once(heard, 'heard', { signal: AbortSignal.timeout(60_000) });
}

function pod(name: string, resourceVersion: string): object {
  return { metadata: { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion }, spec: {}, status: {} };
}

const listOf =
  (resourceVersion: string, ...names: string[]) =>
  ({ response }: Asked): void =>
    json(response, 200, { metadata: { resourceVersion }, items: names.map((name) => pod(name, resourceVersion)) });

/** A watch that sends these events and stays open. */
const watch =
  (...events: [type: string, object: object][]) =>
  ({ response }: Asked): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    for (const [type, object] of events) sendEvent(response, type, object);
  };

/** One page of a list; `position` is where the next begins. */
const page =
  (position: string | undefined, ...names: string[]) =>
  ({ response }: Asked): void =>
    json(response, 200, {
      metadata: { resourceVersion: '10', continue: position },
      items: names.map((name) => pod(name, '9')),
    });

test('lists, then watches from there', async () => {
  script = [
    listOf('10', 'web-0', 'web-1'),
    watch(['ADDED', pod('web-2', '11')], ['MODIFIED', pod('web-0', '12')], ['DELETED', pod('web-1', '13')]),
  ];
  start({ fieldSelector: 'spec.nodeName=node-a' });
  await until('delete web-1');
  expect(seen).toEqual(['set web-0 10', 'set web-1 10', 'synced', 'set web-2 11', 'set web-0 12', 'delete web-1']);
  expect(informer.synced).toBe(true);
  const [list, watching] = server.asked;
  // From the API server's cache, as the kubelet does it.
  expect(list?.query).toEqual({ fieldSelector: 'spec.nodeName=node-a', resourceVersion: '0' });
  expect(watching?.query).toEqual({
    watch: 'true',
    fieldSelector: 'spec.nodeName=node-a',
    resourceVersion: '10',
    allowWatchBookmarks: 'true',
    timeoutSeconds: '1800',
  });
  expect(list?.headers.authorization).toBe('Bearer a-token');
});

test('a long list comes in pages', async () => {
  script = [page('next', 'web-0', 'web-1'), page('', 'web-2'), watch()];
  start({ pageSize: 2 });
  await until('synced');
  expect(seen).toEqual(['set web-0 9', 'set web-1 9', 'set web-2 9', 'synced']);
  expect(server.asked.slice(0, 2).map(({ query }) => query)).toEqual([
    { limit: '2' },
    { limit: '2', continue: 'next' },
  ]);
});

test('a list whose pages have expired is started again', async () => {
  script = [
    ({ response }) => json(response, 200, { metadata: { continue: 'next' }, items: [pod('web-0', '9')] }),
    ({ response }) => refuse(response, 410, 'Expired'),
    listOf('20', 'web-1'),
    watch(),
  ];
  start({ pageSize: 1 });
  await until('synced');
  // Objects before the error are stored as they come, and deleted ones are removed at the end.
  expect(seen).toEqual(['set web-0 9', 'problem list 410', 'set web-1 20', 'delete web-0', 'synced']);
});

test('a watch that ends properly continues from its place, without a new list', async () => {
  script = [
    listOf('10'),
    (asked) => {
      watch(['ADDED', pod('web-0', '11')], ['BOOKMARK', { metadata: { resourceVersion: '42' } }])(asked);
      asked.response.end();
    },
    watch(['ADDED', pod('web-1', '43')]),
  ];
  start();
  await until('set web-1 43');
  expect(server.asked.map(({ query }) => query['resourceVersion'])).toEqual(['0', '10', '42']);
  expect(problems).toEqual([]);
});

test('a watch that ends in the middle of a line loses nothing', async () => {
  script = [
    listOf('10'),
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod('web-0', '11') })}\n{"type":"ADDED","obj`, () =>
        response.destroy(),
      );
    },
    watch(['ADDED', pod('web-1', '12')]),
  ];
  start();
  await until('set web-1 12');
  expect(server.asked.at(-1)?.query['resourceVersion']).toBe('11');
});

const waysToExpire: [string, (asked: Asked) => void][] = [
  [
    'an event of the stream',
    (asked) => {
      watch(['ERROR', { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired' }])(asked);
      asked.response.end();
    },
  ],
  ['by status', ({ response }) => refuse(response, 410, 'Gone')],
];

test.each(waysToExpire)(
  'a watch that ends because its place is forgotten lists again (%s), and deletes what is gone',
  async (_, expired) => {
    script = [listOf('10', 'web-0', 'web-1'), expired, listOf('50', 'web-1', 'web-2'), watch()];
    start();
    await until('set web-2 50');
    await server.request(3);
    expect(seen.filter((each) => each.startsWith('delete'))).toEqual(['delete web-0']);
    expect(server.asked.map(({ query }) => query['watch'] ?? 'list').slice(0, 4)).toEqual([
      'list',
      'true',
      'list',
      'true',
    ]);
  },
);

test.each(waysToExpire)(
  'a watch that ends because its place is forgotten again and again (%s) pauses for longer and longer, up to 30 s',
  async (_, expired) => {
    // With 1, jitter makes each pause as long as possible.
    vi.mocked(Math.random).mockReturnValue(1);
    const pauses: number[] = [];
    script = [...Array.from({ length: 8 }, () => [listOf('10'), expired]).flat(), listOf('10'), watch()];
    start({ pause: async (duration) => void pauses.push(duration) });
    await server.request(17);
    expect(pauses).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  },
);

test('a watch that goes silent is continued from its place', async () => {
  // Each watch sends the event after the requested place, then nothing. It may be given up before the event is read.
  script = [
    listOf('10'),
    (asked) => {
      const next = { 10: pod('web-0', '11'), 11: pod('web-1', '12') }[asked.query['resourceVersion'] ?? ''];
      (next === undefined ? watch() : watch(['ADDED', next]))(asked);
    },
  ];
  start({ silence: 150 });
  await until('set web-1 12');
  expect(seen.filter((each) => each.startsWith('set'))).toEqual(['set web-0 11', 'set web-1 12']);
  expect(seen).toContain('problem watch silence');
  expect(server.asked.filter(({ query }) => query['watch'] === undefined)).toHaveLength(1);
  // Watches that went silent are closed.
  for (const { response } of server.asked.slice(1, -1)) if (!response.destroyed) await once(response, 'close');
});

test('a watch that ends over and over is requested with pauses', async () => {
  // Each pause is a tenth of a second.
  vi.mocked(Math.random).mockReturnValue(0.1);
  const began = performance.now();
  script = [listOf('10'), ({ response }) => response.destroy()];
  start();
  await server.request(4);
  expect(performance.now() - began).toBeGreaterThanOrEqual(290);
});

test('a server that refuses the list is asked again, and its reason is reported', async () => {
  script = [
    ({ response }) => refuse(response, 500, 'InternalError'),
    ({ response }) => refuse(response, 403, 'Forbidden'),
    listOf('10', 'web-0'),
    watch(),
  ];
  start();
  await until('synced');
  expect(seen.slice(0, 2)).toEqual(['problem list 500', 'problem list 403']);
  expect(problems[1]?.refusal).toMatchObject({ status: 403, reason: 'Forbidden', message: 'refused with 403' });
});

test('a server that refuses the watch is asked again, without a new list', async () => {
  script = [listOf('10'), ({ response }) => refuse(response, 403), watch(['ADDED', pod('web-0', '11')])];
  start();
  await until('set web-0 11');
  expect(seen).toContain('problem watch 403');
  expect(server.asked.map(({ query }) => query['watch'] ?? 'list')).toEqual(['list', 'true', 'true']);
});

test('a server that says how long to wait is not asked earlier', async () => {
  const began = performance.now();
  script = [({ response }) => refuse(response, 429, 'TooManyRequests', { 'retry-after': '1' }), listOf('10'), watch()];
  start();
  await until('synced');
  expect(performance.now() - began).toBeGreaterThanOrEqual(990);
});

test('a server that does not answer is asked again', async () => {
  // On a busy machine the second answer may come too late as well.
  script = [() => {}, (asked) => (asked.query['watch'] === undefined ? listOf('10') : watch())(asked)];
  start({ timeout: 500 });
  await until('synced');
  expect(seen[0]).toBe('problem list 0');
});

test('a server that answers without JSON is asked again', async () => {
  script = [
    ({ response }) => response.end('<html>a proxy</html>'),
    ({ response }) => response.writeHead(502).end('<html>Bad gateway</html>'),
    listOf('10'),
    watch(),
  ];
  start();
  await until('synced');
  expect(problems.map(({ refusal }) => refusal?.status)).toEqual([0, 502]);
});

test('a server that comes back empty removes all objects, and they return with its next list', async () => {
  script = [
    listOf('10', 'web-0', 'web-1'),
    ({ response }) => refuse(response, 410),
    listOf('20'),
    ({ response }) => refuse(response, 410),
    listOf('30', 'web-0'),
    watch(),
  ];
  start();
  await until('set web-0 30');
  expect(seen.filter((each) => each !== 'synced')).toEqual([
    'set web-0 10',
    'set web-1 10',
    'delete web-0',
    'delete web-1',
    'set web-0 30',
  ]);
});

test('a server that sends an object without a name does not stop the others', async () => {
  script = [
    ({ response }) => json(response, 200, { metadata: { resourceVersion: '10' }, items: [{}, pod('web-0', '9')] }),
    watch(['ADDED', { metadata: {} }], ['ADDED', pod('web-1', '11')]),
  ];
  start();
  await until('set web-1 11');
  expect(seen).toEqual(['unusable', 'set web-0 9', 'synced', 'unusable', 'set web-1 11']);
});

test('a token file that is missing between two watches does no harm', async () => {
  script = [
    listOf('10'),
    ({ response }) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
    watch(['ADDED', pod('web-0', '11')]),
  ];
  start();
  const authenticate = vi.spyOn(access, 'authenticate');
  await server.request(1);
  authenticate.mockRejectedValueOnce(new Error("ENOENT: no such file or directory, open 'token'"));
  await until('set web-0 11');
  expect(problems[0]?.refusal?.message).toContain("open 'token'");
});

test('once stopped, it sends no requests', async () => {
  script = [listOf('10'), watch()];
  start();
  await until('synced');
  await server.request(1);
  informer.stop();
  const asked = server.asked.length;
  const { response } = await server.request(1);
  if (!response.destroyed) await once(response, 'close');
  expect(server.asked).toHaveLength(asked);
});

/** The server no longer knows the place from which the watch is to continue. */
const forgotten = ({ response }: Asked): void => refuse(response, 410, 'Expired');

test.each([
  ['before it asks for a second one', 1],
  ['before it asks for a third one', 2],
])('if it is stopped between two watches, %s, no watch begins', async (_, lastPause) => {
  script = [listOf('10'), forgotten, listOf('20'), forgotten, listOf('30')];
  const paused = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let pauses = 0;
  start({
    async pause() {
      if (++pauses < lastPause) return;
      paused.resolve();
      await goOn.promise;
    },
  });
  await paused.promise;
  const asks = vi.spyOn(access, 'authenticate');
  const before = [...seen];
  informer.stop();
  goOn.resolve();
  // By then it has done all that it could do at once.
  await new Promise(setImmediate);
  expect(asks).not.toHaveBeenCalled();
  expect(seen).toEqual(before);
});

const large = (name: string, resourceVersion: string, bytes: number): object => ({
  metadata: {
    name,
    namespace: 'shop',
    resourceVersion,
    ownerReferences: [{ kind: 'Deployment', name: 'x'.repeat(bytes), controller: true }],
  },
});

test('an object for which memory has no room is left out, both when it is new and when it has grown', async () => {
  const memory = createMemoryBudget({ total: 1000, isPreferred: () => false });
  script = [
    listOf('10', 'web-0', 'web-1'),
    watch(
      ['ADDED', large('large', '11', 253)],
      ['MODIFIED', large('web-1', '12', 253)],
      ['ADDED', large('large-2', '13', 253)],
      ['MODIFIED', pod('web-0', '14')],
    ),
  ];
  start({ memory });
  await until('set web-0 14');
  expect(seen).toEqual([
    'set web-0 10',
    'set web-1 10',
    'synced',
    'set large 11',
    'leave out web-1',
    'leave out large-2',
    'set web-0 14',
  ]);
  expect([...memory.accounts].map(({ leftOut }) => leftOut)).toEqual([2]);
});

test('left-out objects are listed again when there is room, at most once a minute', async () => {
  const memory = createMemoryBudget({ total: 900, isPreferred: () => false });
  let time = 0;
  script = [
    listOf('10', 'web-0', 'web-1', 'web-2', 'web-3', 'web-4'),
    watch(['DELETED', pod('web-0', '11')], ['DELETED', pod('web-1', '12')], ['MODIFIED', pod('web-2', '13')]),
    listOf('14', 'web-2', 'web-3', 'web-4'),
    watch(),
  ];
  start({ memory, now: () => (time += 45_000), pause: () => Promise.resolve() });
  await until('set web-4 14');
  await server.request(3);
  expect(seen.filter((each) => each.endsWith(' 10') || each.startsWith('leave'))).toEqual([
    'set web-0 10',
    'set web-1 10',
    'set web-2 10',
    'set web-3 10',
    'leave out web-4',
  ]);
  expect(server.asked.map(({ query }) => query['watch'] ?? 'list')).toEqual(['list', 'true', 'list', 'true']);
  expect([...memory.accounts].map(({ leftOut }) => leftOut)).toEqual([0]);
});
