import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Bytes } from './weight.ts';

/** The most answers with a status of 100 to 199 before the answer. */
const mostInformational = 16;

/**
 * Resolves when the answer begins. Rejects if no answer will come, whatever a proxy sends in its place: Node.js ends a request without an error
 * after `101 Switching Protocols`.
 */
export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let informational = 0;
  request.on('error', reject);
  // Without a header that names a protocol, it looks like an answer.
  request.on('response', (answer) => void (answer.statusCode === 101 ? request.destroy(switching()) : resolve(answer)));
  request.on('information', ({ statusCode }) => {
    if (++informational > mostInformational)
      request.destroy(new Error(`answers HTTP status ${statusCode} without end`));
  });
  request.on('upgrade', (_, socket) => {
    socket.destroy();
    reject(switching());
  });
  request.on('close', () => reject(new Error('the connection ended without an answer')));
  return promise;
}

/** Rejects if the body has more than `most` bytes, and then closes the connection; rejects with the error of a broken body. */
export async function bodyOf(answer: IncomingMessage, most: Bytes): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > most) throw new Error(`the answer is too long: it has more than ${most / 1024} KiB`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function switching(): Error {
  return new Error('answers HTTP status 101 (Switching Protocols), which nobody asked for');
}
