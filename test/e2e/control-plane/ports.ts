import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

// Below the range that the kernel gives to outgoing connections (ip_local_port_range, from 32768), so that none of those
// takes the port between this look and the server's start; and below the NodePort range.
const [FIRST, END] = [20_000, 30_000];

/** `count` different TCP ports on which nothing listens on 127.0.0.1, and which no other call gets while this process runs. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries > 1000) throw new Error('[control-plane] no free port between 20000 and 30000');
    const port = randomInt(FIRST, END);
    if (await claim(port)) ports.push(port);
  }
  return ports;
}

/**
 * An abstract Unix socket (Linux) reserves the port until its server listens: the kernel frees it when this process
 * ends.
 */
async function claim(port: number): Promise<boolean> {
  const claimed = await listening({ path: `\0kube-netfilter-tailer-port:${port}` });
  if (claimed === undefined) return false;
  const server = await listening({ port, host: '127.0.0.1' });
  if (server === undefined) {
    claimed.close();
    return false;
  }
  claimed.unref();
  const closed = once(server, 'close');
  server.close();
  await closed;
  return true;
}

/** undefined if another process listens there. */
async function listening(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(options);
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}
