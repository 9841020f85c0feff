import { get } from 'node:http';
import type { Millis } from '../../model/log-line.ts';
import { type ListenAddress, printListenAddress } from '../../platform/listen-address.ts';

export type HttpAnswer = { status: number; body: string } | { error: string };
/** `address`: `HOST:PORT`. Never rejects. */
export type HttpGet = (address: string, path: string) => Promise<HttpAnswer>;

const timeout: Millis = 4000;
const maxBody = 16 * 1024 * 1024;

export const httpGet: HttpGet = (address, path) => {
  const { promise, resolve } = Promise.withResolvers<HttpAnswer>();
  const request = get(
    `http://${address}${path}`,
    { agent: false, signal: AbortSignal.timeout(timeout) },
    (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        parts.push(part);
        size += part.length;
        if (size > maxBody) request.destroy(new Error('the answer is too long'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }));
      response.on('error', (error) => resolve({ error: error.message }));
    },
  );
  request.on('error', (error) => resolve({ error: error.name === 'AbortError' ? 'no answer in time' : error.message }));
  return promise;
};

/** Where a server that listens at this address is reached from the same machine. */
export function reachableAt({ host, port }: ListenAddress): string {
  const isAny = host === undefined || host === '0.0.0.0' || host === '::';
  return printListenAddress({ address: isAny ? '127.0.0.1' : host, port });
}
