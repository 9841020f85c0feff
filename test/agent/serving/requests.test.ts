import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RequestServer, type ServedAnswer, startServing } from '../../../src/agent/serving/serving.ts';
import { forAllAsync } from '../../for-all.ts';

let server: RequestServer;
const mostAtOnce = 8;
let [atOnce, most] = [0, 0];

const textOf = (text: string): ServedAnswer => ({ status: 200, type: 'text/plain', body: Buffer.from(text) });

beforeAll(async () => {
  server = await startServing({
    listen: { host: '127.0.0.1', port: 0 },
    limits: { total: mostAtOnce, perAddress: mostAtOnce },
    isClose: () => false,
    isOwnHost: () => false,
    timeout: 60_000,
    idleTimeout: 60_000,
    longestHead: 8192,
    async answer({ method, target }) {
      most = Math.max(most, ++atOnce);
      await new Promise(setImmediate);
      atOnce--;
      return textOf(`${method} ${target}`);
    },
    refuse: ({ status, text }) => ({ ...textOf(text), status }),
  });
});
afterAll(() => server.stop());

/** Returns all that the server sends, except the time, to a client that sends these chunks and then closes its side. */
async function answersTo(chunks: readonly string[]): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: server.address.port, noDelay: true });
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => void (received += chunk.toString('latin1')));
  await once(socket, 'connect');
  for (const chunk of chunks) await new Promise<void>((resolve) => socket.write(chunk, 'latin1', () => resolve()));
  socket.end();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return received.replaceAll(/^date: .*$/gim, 'date');
}

const statuses = (text: string): string[] => text.match(/^HTTP\/1\.1 \d+/gm) ?? [];

const pieces = fc.constantFrom(
  'GET',
  'HEAD',
  ' ',
  '/',
  '/metrics',
  'HTTP/1.1',
  'HTTP/1.0',
  '\r\n',
  '\n',
  '\r',
  'Host: a',
  'Host: b.c:1',
  'Host:',
  ':',
  '\t',
  '\0',
  '\x7f',
  '\xe9',
  'Content-Length: 0',
  'Content-Length: 1',
  'Transfer-Encoding: chunked',
  'Expect: x',
  'Upgrade: h2c',
  'Connection: upgrade',
  'http://x',
  'Connection: close',
  'X-A: b',
  ',',
  '[::1]',
);
const usual = 'GET /metrics HTTP/1.1\r\nHost: a:1\r\nAccept: */*';
const heads = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.array(pieces, { maxLength: 6 }).map((more) => `${usual}\r\n${more.join('')}`),
  fc.tuple(fc.nat(40), pieces).map(([head, piece]) => usual.slice(0, head) + piece + usual.slice(head)),
);

test('whatever a client sends, it gets at most one answer, and none if the request does not end', async () => {
  await forAllAsync([heads, fc.nat(3)], { numRuns: 200 }, async (head, more) => {
    const received = await answersTo([`${head}\r\n\r\n`.repeat(1 + more)]);
    expect([head, statuses(received).length]).toEqual([head, expect.toSatisfy((n) => n <= 1)]);
  });
  expect(most).toBe(1);
});

test('bytes that arrive in pieces get the same answer as bytes that arrive at once', async () => {
  await forAllAsync([heads, fc.array(fc.nat(80), { maxLength: 4 })], { numRuns: 200 }, async (head, cuts) => {
    const sent = `${head}\r\n\r\n`;
    const at = [0, ...cuts.map((cut) => Math.min(cut, sent.length)).toSorted((a, b) => a - b), sent.length];
    const chunks = at.slice(1).map((end, index) => sent.slice(at[index], end));
    const [whole, cut] = await Promise.all([answersTo([sent]), answersTo(chunks)]);
    expect([head, statuses(cut)]).toEqual([head, statuses(whole)]);
  });
});
