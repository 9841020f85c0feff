import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the range that the kernel gives to outgoing connections (ip_local_port_range, from 32768), so that none of those
// takes the port between this look and the server's start; and below the NodePort range.
const [FIRST, END] = [20_000, 30_000];

/** `count` different TCP ports on which nothing listens on 127.0.0.1. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 1000) throw new Error('[control-plane] no free port between 20000 and 30000');
    const port = randomInt(FIRST, END);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  const closed = once(server, 'close');
  server.close();
  await closed;
  return true;
}
