import { once } from 'node:events';
import { createServer, type IncomingMessage, METHODS } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRefusal, readHead } from '../../src/serving/requests.ts';
import { forAllAsync } from '../for-all.ts';

/** What Node.js reads of the bytes; undefined if it refuses them. */
async function readByNode(head: string): Promise<IncomingMessage | undefined> {
  const server = createServer({ maxHeaderSize: 65_536 });
  // Node.js answers some requests itself, which it does not hand over.
  const refused = Promise.withResolvers<undefined>();
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      done();
      refused.resolve(undefined);
    },
  });
  const read = Promise.race([
    refused.promise,
    once(server, 'request').then(([request]) => request as IncomingMessage),
    once(server, 'clientError').then(() => undefined),
    once(server, 'connect').then(([request]) => request as IncomingMessage),
  ]);
  server.emit('connection', socket);
  socket.push(Buffer.from(`${head}\r\n\r\n`, 'latin1'));
  return await read.finally(() => socket.destroy());
}

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
  'http://x',
  'Connection: close',
  'X-A: b',
  ',',
  '[::1]',
);
const usual = fc.constant('GET /metrics HTTP/1.1\r\nHost: a.b:1\r\nAccept: */*');
const heads = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.tuple(usual, fc.array(pieces, { maxLength: 6 })).map(([head, more]) => `${head}\r\n${more.join('')}`),
  fc.tuple(usual, fc.nat(40), pieces).map(([head, at, piece]) => head.slice(0, at) + piece + head.slice(at)),
);

test('what is read as a request, Node.js reads as the same one, without a body', async () => {
  await forAllAsync([heads], { numRuns: 500 }, async (head) => {
    const asked = readHead(head);
    // A method that nobody has: the servers refuse it by its name.
    if (isRefusal(asked) || !METHODS.includes(asked.method)) return;
    const request = await readByNode(head);
    expect([head, request?.method, request?.headers.host ?? '']).toEqual([
      head,
      asked.method,
      asked.headers.get('host') ?? '',
    ]);
    expect(request?.url?.endsWith(asked.target === '/' ? '' : asked.target)).toBe(true);
    expect(Number(request?.headers['content-length'] ?? 0)).toBe(0);
  });
});
