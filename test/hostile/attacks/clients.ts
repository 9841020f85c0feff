import { connect, type Socket } from 'node:net';
import type { Attack, Tenant } from '../attack.ts';
import { mark } from '../words.ts';

/** Clients of both listeners, with addresses of their own. */
export const clientAttacks: readonly Attack[] = [
  // Many requests at once, whose answers are never read.
  clients('client-pipeline', 64, async (tenant, socket) => {
    const requests = `GET /metrics HTTP/1.1\r\nHost: ${mark}\r\n\r\n`.repeat(200);
    while (!tenant.isOver && socket.writable) {
      socket.write(requests);
      await tenant.wait(20);
    }
  }),
  // The same, but answers are read: the agent gets no pause.
  clients('client-greed', 16, async (tenant, socket) => {
    socket.resume();
    while (!tenant.isOver && socket.writable) {
      socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n'.repeat(50));
      await tenant.wait(20);
    }
  }),
  clients('client-slow', 200, async (tenant, socket) => {
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n`);
    for (let header = 0; !tenant.isOver && socket.writable; header++) {
      socket.write(`X-${mark}-${header}: a\r\n`);
      await tenant.wait(500);
    }
  }),
  clients('client-churn', 32, async (tenant, socket) => {
    socket.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    socket.resume();
    await Promise.race([new Promise((resolve) => socket.once('close', resolve)), tenant.wait(1000)]);
  }),
  // Connections that send nothing, each a new one.
  clients('client-storm', 128, async (_, socket) => void socket.resetAndDestroy()),
  clients('client-odd', 32, async (tenant, socket) => {
    const odd = [
      `POST /metrics HTTP/1.1\r\nHost: ${mark}\r\nContent-Length: 1000000000\r\n\r\n${'x'.repeat(60_000)}`,
      `GET /${'a'.repeat(15_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n`,
      `GET / HTTP/1.1\r\n${`X-${mark}: ${'h'.repeat(100)}\r\n`.repeat(120)}\r\n`,
      '\u0016\u0003\u0001\u0002\u0000',
      `GET /metrics HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n`,
    ];
    socket.resume();
    socket.write(tenant.chance.pick(odd));
    await tenant.wait(200);
  }),
];

/** This many clients at the same time. Each opens one connection after another, and `use` does something with it. */
function clients(name: string, count: number, use: (tenant: Tenant, socket: Socket) => Promise<void>): Attack {
  return {
    name,
    async play(tenant) {
      const client = async (number: number): Promise<void> => {
        while (!tenant.isOver) {
          const socket = await open(tenant, number);
          if (socket !== undefined) await use(tenant, socket);
          socket?.destroy();
          // So that a refused client does not use up the whole machine.
          await tenant.wait(5);
        }
      };
      await Promise.all(Array.from({ length: count }, (_, number) => client(number)));
    },
  };
}

/**
 * The clients have addresses of their own, because the probes come from an address of their own, as the kubelet's do.
 * Half of the clients go to each listener.
 */
async function open(tenant: Tenant, number: number): Promise<Socket | undefined> {
  const { metrics, health } = tenant.listeners;
  const [host = '', port = ''] = (number % 2 === 0 ? metrics : health).split(':');
  const localAddress = `127.7.${1 + (number >> 4)}.${1 + (number & 15)}`;
  const socket = connect({ host, port: Number(port), localAddress });
  socket.on('error', () => {});
  const opened = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('close', () => resolve(false));
  });
  return (await Promise.race([opened, tenant.wait(2000).then(() => false)])) ? socket : (socket.destroy(), undefined);
}
