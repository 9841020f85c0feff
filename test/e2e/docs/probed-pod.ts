import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { run } from '../network/command.ts';

/** Documents ask an agent here; only the network namespace of the Pod has the port in use. */
export const PORT = 9090;
const DEVICE = 'eth0';
/** Networks with two addresses, for the machine and the Pod, in 198.18.0.0/15 (RFC 2544). */
const NETWORKS = 65_536;

/** The API server finds this at the address of an agent's Pod. */
export interface ProbedPod {
  /** An address of no other Pod of this machine, which the API server asks: it refuses loopback and link-local ones. */
  readonly address: string;
  /** The device that leads there. */
  readonly device: string;
  readonly destroy: () => Promise<void>;
}

/** It ends with its standard input, so with the process that started it at the latest. Its namespace goes with it, and the device with that. */
const agent = `
require('node:http').createServer((_, response) => response.end('ok\\n')).listen(${PORT}, () => console.log('ready'));
process.stdin.resume().on('end', () => process.exit());
`;

/** A network namespace in which something answers every HTTP request with "ok". Needs root. */
export async function startProbedPod(): Promise<ProbedPod> {
  const holder = spawn('unshare', ['--net', '--', execPath, '-e', agent], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(holder, 'close');
  const end = async (): Promise<void> => {
    holder.stdin.end();
    await closed;
  };
  // Only now is it certain that its namespace is not the machine's.
  const [ready] = (await Promise.race([once(holder.stdout, 'data'), closed])) as [unknown];
  if (!Buffer.isBuffer(ready)) throw new Error('[docs] no Pod to probe: its error output is above');
  try {
    const { device, address } = await join(holder.pid ?? 0);
    return {
      address,
      device,
      async destroy() {
        // The kernel would do it, but somewhat later.
        await run('ip', ['link', 'delete', device]);
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Joins the machine and the network namespace of a process. The device is named after the network: its name is taken or not. */
async function join(pid: number): Promise<{ device: string; address: string }> {
  for (;;) {
    const network = randomInt(NETWORKS);
    const device = `knt-pod-${network}`;
    const first = network * 2;
    const [near, far] = [first, first + 1].map((n) => `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`) as [
      string,
      string,
    ];
    try {
      await run('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', DEVICE, 'netns', `${pid}`]);
    } catch (error) {
      if (String(error).includes('File exists')) continue;
      throw error;
    }
    await run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', '-batch', '-'], up(DEVICE, far));
    await run('ip', ['-batch', '-'], up(device, near));
    return { device, address: far };
  }
}

function up(device: string, address: string): string {
  return `address add ${address}/31 dev ${device}\nlink set ${device} up\n`;
}
