import { once } from 'node:events';
import { createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { ListenAddress } from '../../base/platform/address.ts';
import { type ClientConnection, type ConnectionLimits, createConnectionRoom } from './connections.ts';
import { type ConversationOptions, createConversations } from './conversation.ts';

export interface ServingOptions extends ConversationOptions {
  readonly listen: ListenAddress;
  /** PEM. Without it, plain HTTP. */
  readonly tls?: { readonly key: string; readonly certificate: string } | undefined;
  readonly limits: ConnectionLimits;
  /** Whether connections of this address are the node's own, whose room strangers cannot take. */
  readonly isClose: (address: string) => boolean;
}

export interface RequestServer {
  readonly address: AddressInfo;
  /** Ends idle connections at once, and others after their answer or its time limit. */
  stop: () => Promise<void>;
}

/** Rejects with the error of the system if it cannot listen. */
export async function startServing(options: ServingOptions): Promise<RequestServer> {
  const { listen, tls, limits, isClose, timeout } = options;
  const room = createConnectionRoom(limits, isClose, () => performance.now());
  const entered = new Map<string, ClientConnection>();
  const conversations = createConversations(options);
  // A client may half-close after its request, and still read the answer.
  const allowHalfOpen = true;
  const server: Server =
    tls === undefined
      ? createPlainServer({ allowHalfOpen })
      : createTlsServer({
          key: tls.key,
          cert: tls.certificate,
          minVersion: 'TLSv1.3',
          handshakeTimeout: timeout,
          allowHalfOpen,
        } as Parameters<typeof createTlsServer>[0]);

  server.on('connection', (socket: Socket) => {
    options.onArrival?.();
    socket.on('error', () => {});
    const address = addressOf(socket);
    if (!room.admit(address)) {
      socket.resetAndDestroy();
      return;
    }
    const connection: ClientConnection = { address, socket, isClose: false, isAnswering: false };
    const key = keyOf(socket);
    entered.set(key, connection);
    room.enter(connection);
    socket.once('close', () => {
      entered.delete(key);
      room.leave(connection);
    });
  });
  // Over TLS, another socket than that of the connection carries the requests.
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    const connection = entered.get(keyOf(socket));
    if (connection === undefined || socket.destroyed) {
      socket.destroy();
      return;
    }
    conversations.start({
      socket,
      address: connection.address,
      onAnswering: (isAnswering) => void (connection.isAnswering = isAnswering),
      onApproved: () => room.approve(connection),
    });
  });
  await once(server.listen(listen), 'listening');
  // Ignored: if a connection cannot be accepted (too many open files) or does not speak TLS, its client sees that.
  for (const event of ['error', 'tlsClientError']) server.on(event, () => {});
  return { address: server.address() as AddressInfo, stop };

  async function stop(): Promise<void> {
    const closed = once(server.close(), 'close');
    conversations.finish();
    for (const { socket, isAnswering } of entered.values()) if (!isAnswering) socket.destroy();
    await closed;
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** An IPv4 address at a socket for both families is written as one. */
function addressOf({ remoteAddress = '' }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
}
