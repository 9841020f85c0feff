import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuthenticationResult } from '../../../src/agent/directory/authenticator.ts';
import { createCertificate } from '../../../src/agent/directory/certificate.ts';
import { createDirectoryFinder } from '../../../src/agent/directory/client.ts';
import { ownersIn, type RequestResult, startDirectoryServer } from '../../../src/agent/directory/server.ts';
import { encodeReplica } from '../../../src/agent/directory/replicas.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Owners, PodFinder } from '../../../src/explain/resolving/lookups/lookup.ts';
import { nine, node, pod } from '../../builders.ts';

/** The client against the server, over TLS. */

const day = 86_400_000;
const host = '127.0.0.1';
let folder: string;
const closing: (() => Promise<void>)[] = [];
const clock = { now: nine, wall: (time: number) => time };

beforeEach(() => {
  clock.now = nine;
  folder = mkdtempSync(join(tmpdir(), 'directory-'));
  writeFileSync(join(folder, 'token'), 'a-token\n');
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  rmSync(folder, { recursive: true });
});

const steady = { now: () => clock.now, fromWall: clock.wall, toWall: clock.wall };

function finder(more: object = {}): Required<PodFinder> {
  return createDirectoryFinder({ folder, clock: steady, random: () => 0.5, timeout: 60_000, ...more });
}

interface Started {
  answers: RequestResult[];
  asked: (string | undefined)[];
  stop: () => Promise<void>;
}

/** A replica that is published as `name`, with a certificate for the address `of`. */
async function replica(
  name: string,
  ownersOf: (address: string) => Owners | undefined,
  verdict: AuthenticationResult = 'agent',
  of = host,
): Promise<Started> {
  const certificate = createCertificate(of, Date.now() - day, Date.now() + day);
  const started: Started = { answers: [], asked: [], stop: () => Promise.resolve() };
  const server = await startDirectoryServer({
    address: { host, port: 0 },
    certificate,
    check(authorization) {
      started.asked.push(authorization);
      return Promise.resolve(verdict);
    },
    ownersOf,
    onAnswer: (result) => started.answers.push(result),
    clock: steady,
  });
  started.stop = server.stop;
  closing.push(server.stop);
  writeFileSync(join(folder, name), encodeReplica({ host, port: server.port, certificate: certificate.certificate }));
  return started;
}

const db = pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9', 'fd00:65::9'], from: nine - day });

test('a Pod, a Pod that is gone, a node and an address without any', async () => {
  const lists = createLiveLists('', undefined);
  lists.setPod(pod({ ...db, name: 'job', uid: 'job', addresses: ['10.65.2.9', '10.65.2.8'] }), nine - 9000);
  lists.removePod('shop', 'job', nine - 5000);
  lists.setPod({ ...db, from: nine - 4000 }, nine - 4000);
  lists.setNode(node({ name: 'node-b', addresses: ['192.168.7.12'] }));
  const { answers, asked } = await replica('one', (address) => ownersIn(lists, address));
  const { find } = finder();
  expect((await find('10.65.2.9', 'shop'))?.pods.map(({ name, until }) => [name, until])).toEqual([
    ['db-0', Infinity],
    ['job', nine - 5000],
  ]);
  expect(await find('fd00:65::9', 'shop')).toMatchObject({
    pods: [{ name: 'db-0', uid: 'uid-of-db-0', node: 'node-b' }],
  });
  expect(await find('192.168.7.12', 'shop')).toEqual({ pods: [], node: 'node-b' });
  expect(await find('10.65.2.77', 'shop')).toEqual({ pods: [], node: undefined });
  expect(answers).toEqual(['hit', 'hit', 'hit', 'miss']);
  expect(new Set(asked)).toEqual(new Set(['Bearer a-token']));
});

test('if a replica does not answer, another one does and is asked from then on; the first is tried again later', async () => {
  const first = await replica('one', () => ({ pods: [db] }));
  const second = await replica('two', () => ({ pods: [db] }));
  const { find } = finder();
  await find('10.65.2.9', 'shop');
  const [used, other] = first.answers.length > 0 ? [first, second] : [second, first];
  await used.stop();
  await expect(find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }] });
  await find('10.65.2.9', 'shop');
  expect(other.answers).toEqual(['hit', 'hit']);
});

test('a replica that does not answer is not asked again at once', async () => {
  const one = await replica('one', () => undefined);
  const { find } = finder();
  await expect(find('10.65.2.9', 'shop')).rejects.toThrow('answers 503');
  await expect(find('10.65.2.9', 'shop')).rejects.toThrow('replicas');
  expect(one.answers).toEqual(['busy']);
  clock.now += 2000;
  await expect(find('10.65.2.9', 'shop')).rejects.toThrow('answers 503');
});

test('replicas that do not answer are asked about once a minute, although the folder is read again, until they do', async () => {
  let owners: Owners | undefined;
  const both = await Promise.all(['one', 'two'].map((name) => replica(name, () => owners)));
  const { find } = finder();
  for (let second = 0; second < 600; second++) {
    await find('10.65.2.9', 'shop').catch(() => {});
    clock.now += 1000;
  }
  for (const { answers } of both) expect(answers.length).toBeLessThan(25);
  owners = { pods: [db] };
  clock.now += 60_000;
  await expect(find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }] });
});

test('the replicas and the token of the folder are read again after ten seconds', async () => {
  const { asked } = await replica('one', () => ({ pods: [db] }));
  const published = readFileSync(join(folder, 'one'));
  const { find } = finder();
  await find('10.65.2.9', 'shop');
  rmSync(join(folder, 'one'));
  clock.now += 9999;
  await find('10.65.2.9', 'shop');
  clock.now += 1;
  await expect(find('10.65.2.9', 'shop')).rejects.toThrow('no replica is published');
  writeFileSync(join(folder, 'one'), published);
  writeFileSync(join(folder, 'token'), 'another\n');
  clock.now += 10_000;
  await expect(find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }] });
  expect(asked).toEqual(['Bearer a-token', 'Bearer a-token', 'Bearer another']);
});

test("a server without a replica's certificate counts as a refusal", async () => {
  await replica('one', () => ({ pods: [db] }), 'stranger');
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow('answers 401');
});

/** A replica with arbitrary answers. */
async function lying(answer: (response: ServerResponse) => void, until = Date.now() + day): Promise<void> {
  const { key, certificate } = createCertificate(host, until - 2 * day, until);
  const server = createServer({ key, cert: certificate }, (_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(folder, 'one'), encodeReplica({ host, port, certificate }));
}

test('a replica that does not answer in time is given up', async () => {
  await lying(() => {});
  await expect(finder({ timeout: 100 }).find('10.65.2.9', 'shop')).rejects.toThrow(/abort|timeout/i);
});

test('an expired certificate is not believed', async () => {
  await lying((response) => response.end('{"pods":[]}'), Date.now() - 1000);
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow('certificate has expired');
});

test('a server with another certificate is not believed', async () => {
  const one = await replica('one', () => ({ pods: [db] }));
  const other = createCertificate(host, Date.now() - day, Date.now() + day);
  const { port } = JSON.parse(readFileSync(join(folder, 'one'), 'utf8')) as { port: number };
  writeFileSync(join(folder, 'one'), encodeReplica({ host, port, certificate: other.certificate }));
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow(/certificate/);
  expect(one.asked).toEqual([]);
});

test('a certificate of another address is not believed', async () => {
  await replica('one', () => ({ pods: [db] }), 'agent', '10.65.2.1');
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow(/IP/);
});

test('an answer without an end is not believed', async () => {
  await lying((response) => {
    const write = (): void => {
      if (!response.destroyed) response.write('x'.repeat(16_384), write);
    };
    write();
  });
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow('too long');
});

test.each([
  'x',
  '{}',
  '{"host":"example.org","port":1,"certificate":"x"}',
  '{"host":"10.1.1.1","port":0,"certificate":"x"}',
  '{"host":"10.1.1.1","port":1,"certificate":"x"}',
])('an invalid entry is not believed: %s', async (text) => {
  writeFileSync(join(folder, 'one'), text);
  await expect(finder().find('10.65.2.9', 'shop')).rejects.toThrow('replica');
});

test('doctor learns whether the directory answers, or why not', async () => {
  await expect(finder({ folder: undefined }).look()).resolves.toEqual({ usable: false, why: 'none is configured' });
  await expect(finder({ folder: '/nowhere' }).look()).resolves.toEqual({
    usable: false,
    why: '/nowhere: no such file',
  });
  await expect(finder().look()).resolves.toMatchObject({ usable: false, why: expect.stringContaining('no replica') });
  await replica('one', () => ({ pods: [] }));
  await expect(finder().look()).resolves.toMatchObject({
    usable: true,
    why: expect.stringMatching(/127\.0\.0\.1:\d+ answers, 1 published/),
  });
});

test('doctor learns that no directory is configured', async () => {
  await expect(finder({ folder: undefined }).find('10.65.2.9', 'shop')).resolves.toBeUndefined();
});
