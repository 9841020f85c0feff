import { once } from 'node:events';
import { createServer, connect as connectSocket, type Socket } from 'node:net';
import { freePorts } from './control-plane/ports.ts';

/** A way to the API server that can be shut. */
export interface Gate {
  readonly port: number;
  /** Breaks what is open and refuses what comes. */
  readonly close: () => Promise<void>;
  /** Lets everything through again, on the same port. */
  readonly open: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** `target`: an `https://127.0.0.1:PORT`; TLS passes through untouched. Begins open. */
export async function createGate(target: string): Promise<Gate> {
  const targetPort = Number(new URL(target).port);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectSocket(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from
        .on('data', (bytes) => to.write(bytes))
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
    }
  });
  // No other process gets it while it is shut.
  const [port = 0] = await freePorts(1);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    port,
    close,
    async open() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async stop() {
      if (server.listening) await close();
    },
  };
}
