import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

export interface Got {
  headers: IncomingMessage['headers'];
  path: string | undefined;
  body: string;
}

export type Answer = (response: ServerResponse, got: Got) => void;

/** A receiver that gives each request the next answer, and repeats the last one until the test ends. */
export async function receiver(answers: readonly Answer[]): Promise<{ url: string; requests: Got[] }> {
  const requests: Got[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = gunzipSync(Buffer.concat(chunks)).toString('latin1');
      const got = { headers: request.headers, path: request.url, body };
      requests.push(got);
      (answers[Math.min(requests.length, answers.length) - 1] as Answer)(response, got);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
