import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Always serves the newest: past a limit closes the oldest idle connection of the same address, or of the one that has most. */
export function limitConnections(server: Server, limits: Readonly<{ total: number; perAddress: number }>): void {
  /** By remote address, each in the order in which they came. */
  const open = new Map<string, Set<Socket>>();
  const answering = new Set<Socket>();
  let count = 0;

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = open.get(address) ?? new Set();
    open.set(address, own.add(socket));
    count++;
    socket.once('close', () => {
      count--;
      own.delete(socket);
      // Another set may have taken the place of one that was empty.
      if (own.size === 0 && open.get(address) === own) open.delete(address);
    });
    if (own.size > limits.perAddress) closeOne(own, socket);
    else if (count > limits.total) closeOne(largest(), socket);
  });
  server.on('request', ({ socket }, response) => {
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
  });

  function closeOne(sockets: ReadonlySet<Socket>, newest: Socket): void {
    const older = [...sockets].filter((socket) => socket !== newest && !socket.destroyed);
    (older.find((socket) => !answering.has(socket)) ?? older[0])?.destroy();
  }

  /** Where several have as many: the one that has been there longest. */
  function largest(): ReadonlySet<Socket> {
    return [...open.values()].reduce((most, each) => (each.size > most.size ? each : most));
  }
}
