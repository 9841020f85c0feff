import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HttpAnswer, send, textOfBody } from '../../../src/agent/kubernetes/http.ts';
import { TooLargeError } from '../../../src/agent/kubernetes/item-scanner.ts';
import { type Asked, json, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
let answer: (asked: Asked) => void;

beforeEach(async () => {
  server = await startScriptedServer((asked) => answer(asked));
});

afterEach(() => server.stop());

async function get(signal = new AbortController().signal): Promise<HttpAnswer> {
  return await send(server.access('secret'), { method: 'GET', path: '/api', headers: { accept: 'a/b' }, signal });
}

test("a request has its caller's headers and those that identify the user", async () => {
  answer = ({ response }) => json(response, 200, {});
  await text((await get()).body);
  expect(server.asked[0]?.headers).toMatchObject({ accept: 'a/b', authorization: 'Bearer secret' });
});

test('a compressed answer is decompressed', async () => {
  answer = ({ response }) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a list'));
  expect(await text((await get()).body)).toBe('a list');
});

test.each([
  ['packed', { 'content-encoding': 'gzip' }],
  ['plain', {}],
])('an answer that is %s and cut off is an error', async (_, headers) => {
  const whole = gzipSync('x'.repeat(10_000));
  answer = ({ response }) => {
    response.writeHead(200, headers).write(whole.subarray(0, 20), () => response.destroy());
  };
  const { body } = await get();
  await expect(text(body)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a request that is aborted during its answer fails with the reason', async () => {
  answer = ({ response }) => response.writeHead(200).write('a part');
  const caller = new AbortController();
  const { body } = await get(caller.signal);
  caller.abort(new Error('too slow'));
  await expect(text(body)).rejects.toMatchObject({ cause: { message: 'too slow' } });
});

test.each([
  ['objects', '{},', '{}'],
  ['lists', '[],', '[]'],
])('an answer of a few megabytes with more than 800,000 %s is too large', async (_, part, last) => {
  answer = ({ response }) => response.end(`[${part.repeat(800_000)}${last}]`);
  await expect(textOfBody(await get())).rejects.toThrow(TooLargeError);
});

test('brackets in texts of an answer are neither objects nor lists', async () => {
  const whole = JSON.stringify(['{[\\"'.repeat(400_000), '\\', '{['.repeat(400_000)]);
  answer = ({ response }) => response.end(whole);
  expect((await textOfBody(await get())).length).toBe(whole.length);
});

test('a connection is reused', async () => {
  const ports = new Set<number | undefined>();
  answer = ({ response }) => {
    ports.add(response.socket?.remotePort);
    json(response, 200, {});
  };
  for (let request = 0; request < 3; request++) await text((await get()).body);
  expect(ports.size).toBe(1);
});

test('large answers are read one at a time, and a broken one does not hold up the others', async () => {
  const parts = [0, 0, 0];
  const bodies = parts.map(
    (_, at) => new Readable({ highWaterMark: 1, read: () => void (parts[at] === 8 || sendOne(at)) }),
  );
  const sendOne = (at: number): void => {
    parts[at]!++;
    bodies[at]?.push(Buffer.alloc(2 ** 18, ' '));
  };
  const texts = bodies.map(async (body) => await textOfBody({ body }).then(({ length }) => length / 2 ** 18, String));
  const untilRead = (expected: number[]) => expect.poll(() => parts).toEqual(expected);
  // One part of each other body is read and no more, because sixty may wait at once; its stream reads one more ahead.
  await untilRead([8, 2, 2]);
  bodies[0]?.destroy(new Error('cut off'));
  await untilRead([8, 8, 2]);
  bodies[1]?.push(null);
  await untilRead([8, 8, 8]);
  bodies[2]?.push(null);
  expect(await Promise.all(texts)).toEqual(['Error: cut off', 8, 8]);
});

/** A body of this many mebibytes that does not end. */
function bodyOf(mebibytes: number): Readable {
  const body = new Readable({ read: () => {} });
  body.push(Buffer.alloc(mebibytes * 2 ** 20, ' '));
  return body;
}

test('a large answer that breaks while it waits fails at once, and the next one still waits for the current one', async () => {
  const [read, broken, next] = [bodyOf(3), bodyOf(3), bodyOf(3)];
  const texts = [read, broken, next].map(async (body) => (await textOfBody({ body })).length / 2 ** 20);
  broken.destroy(new Error('out of time'));
  await expect(texts[1]).rejects.toThrow('out of time');
  next.push(null);
  const first = await Promise.race([texts[2], delay(50, 'still waits')]);
  read.push(null);
  expect([first, await texts[0], await texts[2]]).toEqual(['still waits', 3, 3]);
});
