import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Network } from '../network/network.ts';

const listening = `require('node:net').createServer((socket) => socket.resume()).listen(9000, '::', () => console.log('ready'));
  process.stdin.on('end', () => process.exit()).resume();`;

const talking = (address: string): string => `
  const socket = require('node:net').connect(9000, '${address}', () => console.log('ready'));
  process.stdin.on('data', (bytes) => socket.write(bytes)).on('end', () => process.exit());`;

/** An open TCP connection from one Pod to port 9000 of another. */
export async function openConnection(network: Network, from: string, to: string, address: string) {
  const server = await start(network.namespaceOf(to), listening);
  const client = await start(network.namespaceOf(from), talking(address));
  return {
    /** Sends a segment. */
    write: () => client.stdin?.write('x'),
    async close() {
      for (const child of [client, server]) {
        const exited = once(child, 'exit');
        child.stdin?.end();
        await exited;
      }
    },
  };
}

async function start(namespace: string, script: string): Promise<ChildProcess> {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}
