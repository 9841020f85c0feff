import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Connection } from '../control-plane/connection.ts';
import type { Machine } from './machine.ts';
import { joinSockets } from '../sockets.ts';

/** Where the Pods of a machine find the API server: the address and the port of the Service default/kubernetes. */
export interface ApiService {
  readonly host: string;
  readonly port: number;
  readonly close: () => void;
}

interface Service {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly [{ readonly port: number }] };
}

export async function apiServiceAddress({ request }: Connection): Promise<{ host: string; port: number }> {
  const { status, body } = await request('GET', '/api/v1/namespaces/default/services/kubernetes');
  if (status !== 200) throw new Error(`[node] no Service default/kubernetes: ${status}`);
  const { clusterIP, ports } = (body as Service).spec;
  return { host: clusterIP, port: ports[0].port };
}

/** The machine has to have that address. */
export async function serveApi(
  { server }: Connection,
  machine: Machine,
  folder: string,
  { host, port }: { host: string; port: number },
): Promise<ApiService> {
  const socket = join(folder, 'api-server');
  const near = new Set<Socket>();
  const outside = createServer((client) => {
    near.add(client.on('close', () => near.delete(client)));
    joinSockets(client, connect(Number(new URL(server).port), '127.0.0.1'));
  }).listen(socket);
  await once(outside, 'listening');
  const relay = machine.start([process.execPath, join(import.meta.dirname, 'api-relay.ts'), host, `${port}`, socket]);
  relay.stderr?.pipe(process.stderr);
  const [first] = (await Promise.race([once(relay.stdout as NodeJS.ReadableStream, 'data'), once(relay, 'exit')])) as [
    unknown,
  ];
  if (!Buffer.isBuffer(first)) throw new Error('[node] the relay to the API server did not start');
  return {
    host,
    port,
    close() {
      outside.close();
      for (const client of near) client.destroy();
    },
  };
}
