import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { run } from '../network/command.ts';
import { createNamespaceGroup } from '../network/namespaces.ts';

/** What the API server finds at the address of an agent's Pod. */
export interface ProbedPod {
  /**
   * An address that no other Pod of this machine has. It is not a loopback or link-local one, because the API server
   * refuses to ask those.
   */
  readonly address: string;
  readonly destroy: () => Promise<void>;
}

/** The documents ask an agent at this port. */
const agent = `
require('node:http').createServer((_, response) => response.end('ok\\n')).listen(9090, () => console.log('ready'));
`;

/** A network namespace in which something answers every HTTP request with "ok". Needs root. */
export async function startProbedPod(): Promise<ProbedPod> {
  const group = await createNamespaceGroup();
  const namespace = await group.add('pod');
  const network = randomInt(65_536);
  const device = `knt-pod-${network}`;
  const [near, address] = [addressOf(network * 2), addressOf(network * 2 + 1)];
  await run('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace]);
  await run('ip', ['-batch', '-'], up(device, near));
  await run('ip', ['-n', namespace, '-batch', '-'], up('eth0', address));
  const args = ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, execPath, '-e', agent];
  const server = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout, 'data');
  return {
    address,
    async destroy() {
      const closed = once(server, 'close');
      server.kill('SIGKILL');
      await closed;
      // The kernel would also delete it with the namespace, but later.
      await run('ip', ['link', 'delete', device]);
      await group.remove();
    },
  };
}

/** A network has two addresses, for the machine and the Pod, in 198.18.0.0/15 (RFC 2544). */
function addressOf(number: number): string {
  return `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

function up(device: string, address: string): string {
  return `address add ${address}/31 dev ${device}\nlink set ${device} up\n`;
}
