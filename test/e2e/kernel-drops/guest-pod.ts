/** A Pod of the guest: a program in its network, and in a cgroup as a kubelet makes it, which listens and connects as it is told. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { print } from './guest-node.ts';

const burstable = '/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice';
/** The argument by which the program of the guest knows that it is one of these. */
export const podProgram = 'pod';

export interface Try {
  to: string;
  port: number;
  localPort: number;
  /** Milliseconds until the client gives up. */
  within: number;
}

/** `connected`, `gave up`, or the code of the error. */
export type Outcome = string;

type Order = { connect: readonly Try[] } | { listen: readonly number[] };

export interface PodProcess {
  /** All at the same time. */
  connect: (tries: readonly Try[]) => Promise<Outcome[]>;
  /** Accepts connections on these ports, and closes them. */
  listen: (ports: readonly number[]) => Promise<void>;
}

export function startPod(netns: string, uid: string): PodProcess {
  const group = `${burstable}/kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice/cri-containerd-0.scope`;
  mkdirSync(group, { recursive: true });
  const program = `exec /usr/sbin/ip netns exec ${netns} /bin/node /program.cjs ${podProgram}`;
  const child = spawn('/bin/busybox', ['sh', '-c', `echo $$ > ${group}/cgroup.procs && ${program}`]);
  child.stderr.setEncoding('utf8').on('data', (text: string) => print('failed', `Pod ${netns}: ${text}`));
  const waiting: ((answer: unknown) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.(JSON.parse(line)));
  const tell = (order: Order): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    connect: async (tries) => (await tell({ connect: tries })) as Outcome[],
    listen: async (ports) => void (await tell({ listen: ports })),
  };
}

/** The program in the Pod. */
export async function runPod(): Promise<void> {
  for await (const line of createInterface(process.stdin)) {
    const order = JSON.parse(line) as Order;
    const answers = await Promise.all('connect' in order ? order.connect.map(attempt) : order.listen.map(listen));
    process.stdout.write(`${JSON.stringify(answers)}\n`);
  }
}

function listen(port: number): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => {}).end());
  return new Promise((resolve) => server.listen({ port, host: '::' }, resolve));
}

function attempt({ to, port, localPort, within }: Try): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect({ host: to, port, localPort });
    // What has come meanwhile goes first: a slow processor may be late for both.
    const timer = setTimeout(() => setImmediate(end, 'gave up'), within);
    socket.on('connect', () => end('connected')).on('error', ({ code = '' }: NodeJS.ErrnoException) => end(code));

    function end(outcome: Outcome): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    }
  });
}
