import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { createEventWriter } from '../../../src/publish/events/event-writer.ts';
import { attemptOf } from '../../../src/publish/events/retry.ts';
import { createCalicoBlockFinder } from '../../../src/agent/kubernetes/calico-block.ts';
import { type Connection, createConnection } from '../../../src/agent/kubernetes/connection.ts';
import { refusalOfError } from '../../../src/agent/kubernetes/http.ts';
import { createBackendLookup, createFelixReader } from '../../../src/agent/kubernetes/incident-facts.ts';
import { countAll, listAll, watchEvents } from '../../../src/agent/kubernetes/list-watch.ts';
import { discoverKinds, namespacedPolicyKinds } from '../../../src/agent/kubernetes/policy-kinds.ts';
import { createPolicyReader } from '../../../src/agent/kubernetes/policy-objects.ts';
import { isAllowed } from '../../../src/agent/kubernetes/rights.ts';
import { slimPod } from '../../../src/agent/kubernetes/slim.ts';
import { createConditionStore, createEventStore } from '../../../src/agent/kubernetes/written-objects.ts';
import { createSteadyClock } from '../../../src/base/platform/clock.ts';
import { series } from '../../builders.ts';
import { forAllAsync } from '../../for-all.ts';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';

/**
 * A load balancer, an ingress, a firewall or a login page answers in place of the API server. No client may conclude
 * anything from its status or page.
 */

interface Page {
  status: number;
  type: string | undefined;
  body: string | Buffer;
  headers: Record<string, string>;
}

let server: ScriptedServer;
let page: Page;
let connection: Connection;
const clock = createSteadyClock();

beforeAll(async () => {
  server = await startScriptedServer(({ response }) => {
    const { status, type, body, headers } = page;
    response.writeHead(status, { ...headers, ...(type === undefined ? {} : { 'content-type': type }) }).end(body);
  });
  connection = createConnection({ access: server.access(), userAgent: 'test', clock });
});
afterAll(() => server.stop());

const callers: Record<string, () => Promise<unknown>> = {
  'lists Pods': () => listAll(connection, '/api/v1/pods', { pageSize: 100 }, slimPod),
  'lists Pods of a node': () => listAll(connection, '/api/v1/pods', { pageSize: undefined }, slimPod),
  'counts Nodes': () => countAll(connection, '/api/v1/nodes'),
  'watches Pods': async () => {
    const { signal } = new AbortController();
    const events = watchEvents(connection, '/api/v1/pods', {}, 10_000, signal);
    // A body that is empty or is not an event ends the watch.
    for await (const event of events) if (event !== undefined) return event;
    throw new Error('no event');
  },
  'reads policies': () =>
    createPolicyReader(
      connection,
      () => 0,
      () => {},
    ).namespace('shop'),
  'reads policies of the cluster': () =>
    createPolicyReader(
      connection,
      () => 0,
      () => {},
    ).cluster(),
  'reads a Pod': () =>
    createPolicyReader(
      connection,
      () => 0,
      () => {},
    ).pod('shop', 'web-0'),
  'reads endpoints': () =>
    createPolicyReader(
      connection,
      () => 0,
      () => {},
    ).endpoints('shop/web'),
  'reads the conditions': async () => {
    const read = await createConditionStore(connection, 'node-a', 'Drops').read();
    if (read.kind === 'refused') throw new Error(read.message);
  },
  'finds a Pod by a block of Calico': () => createCalicoBlockFinder({ connection, clock }).find('10.65.0.1', 'shop'),
};

const marks = [
  '',
  '<html>default backend - 404</html>',
  '404 page not found\n',
  'null',
  '[]',
  '{}',
  '{"items":[]}',
  '"gone"',
];
const objects = [
  { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 599 },
  { kind: 'Status', apiVersion: 'v1', status: 'Success', reason: 'NotFound' },
  { kind: 'Status', reason: 'NotFound', details: { kind: 'namespaces' } },
  { type: 'error', status: '404', code: 404, message: 'not found' },
  { kind: 'Page', metadata: {} },
  { kind: 'List', metadata: {}, rows: [] },
];
const bodies = fc.oneof(
  fc.constantFrom<string | Buffer>(...marks, ...objects.map((each) => JSON.stringify(each)), gzipSync('<html>')),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 200 }),
);
const pages: fc.Arbitrary<Page> = fc.record({
  status: fc.oneof(
    fc.constantFrom(200, 201, 202, 301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 422, 451),
    fc.integer({ min: 300, max: 499 }),
  ),
  type: fc.constantFrom('text/html', 'text/plain; charset=utf-8', 'application/json', undefined),
  body: bodies,
  headers: fc.constantFrom<Record<string, string>>(
    {},
    { 'retry-after': '600' },
    { location: 'https://sso.example.com/' },
  ),
});

test('no look-up takes a page of another server for an answer', async () => {
  const names = Object.keys(callers);
  await forAllAsync([pages, fc.constantFrom(...names)], { numRuns: 600 }, async (given, caller) => {
    page = given;
    const error: unknown = await callers[caller]?.().then(
      (value) => new Error(`${caller} concluded ${JSON.stringify(value)}`),
      (reason: unknown) => reason,
    );
    expect((error as Error).message).not.toContain('concluded');
    // These are tried again anyway.
    if (given.status !== 408 && given.status !== 429)
      expect(refusalOfError(error)).toMatchObject({ status: 0, retryAfter: undefined });
  });
}, 60_000);

test('a page of another server ends no Event, removes no right, and does not make a kind count as not served', async () => {
  await forAllAsync([pages, fc.boolean()], { numRuns: 300 }, async (given, isUpdate) => {
    page = given;
    const write = createEventWriter({
      store: createEventStore(connection),
      messageOf: () => 'a message',
      stateId: 'state',
      now: () => 0,
    });
    const before = series({});
    const one = isUpdate
      ? { ...before, count: 2, published: { ...before.published, count: 1, writes: 1, resourceVersion: '7' } }
      : before;
    const outcome = await write(one);
    expect(['unavailable', 'throttled']).toContain(attemptOf(one, outcome).result);

    expect(await isAllowed(connection, 'list', 'pods')).toBeUndefined();
    const { served, away } = await discoverKinds(connection, namespacedPolicyKinds, 'projectcalico.org/v3');
    expect(served).toEqual([]);
    expect(away).toHaveLength(new Set(namespacedPolicyKinds.map(({ apiVersion }) => apiVersion)).size);
    const felix = await createFelixReader(connection, 'node-a', () => 0).read();
    expect(felix).toMatchObject({ kind: 'unreadable' });
    expect(await createBackendLookup(connection)('shop', 'web')).toEqual([]);
  });
}, 60_000);

test.each([
  ['a Namespace that is gone', 404, { reason: 'NotFound', details: { kind: 'namespaces', name: 'shop' } }, 'gone'],
  ['an Event that is not there, for a create', 404, { reason: 'NotFound', details: { kind: 'events' } }, 'unavailable'],
  ['an invalid Event', 422, { reason: 'Invalid' }, 'invalid'],
  ['a missing right', 403, { reason: 'Forbidden' }, 'forbidden'],
  ['a method that is not allowed', 405, { reason: 'MethodNotAllowed' }, 'unavailable'],
])('a Status object of the API server is believed: %s', async (_, status, said, result) => {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, ...said });
  page = { status, type: 'application/json', body, headers: {} };
  const write = createEventWriter({
    store: createEventStore(connection),
    messageOf: () => '',
    stateId: 's',
    now: () => 0,
  });
  const one = series({});
  expect(attemptOf(one, await write(one)).result).toBe(result);
});

test("an API group that is not served is recognized by the API server's text, which has an Audit-ID", async () => {
  page = { status: 404, type: 'text/plain', body: '404 page not found\n', headers: { 'audit-id': 'a' } };
  expect(await discoverKinds(connection, namespacedPolicyKinds, 'projectcalico.org/v3')).toEqual({
    served: [],
    away: [],
    unevaluated: [],
  });
});

test('reading a list of endless empty pages is given up', async () => {
  page = {
    status: 200,
    type: 'application/json',
    body: JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { continue: 'more' }, items: [] }),
    headers: {},
  };
  const before = server.asked.length;
  await expect(listAll(connection, '/api/v1/pods', { pageSize: 100 }, slimPod)).rejects.toThrow('without an end');
  expect(server.asked.length - before).toBeLessThan(20);
});
