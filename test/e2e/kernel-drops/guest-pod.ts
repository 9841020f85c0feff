/**
 * A Pod of the guest: a program in the Pod's network, and in a cgroup like the kubelet's, which listens and connects on
 * request.
 */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync, readFileSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { connect, createServer, isIP, isIPv6 } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Loop, type LoopCounts, startLoop, startServers } from './guest-loops.ts';
import { print } from './guest-node.ts';

const burstable = '/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice';
/** The argument that makes the guest's program run as one of these. */
export const podProgram = 'pod';

/** Longer than a second, after which the kernel repeats the first packet. */
const leastMs = 2000;

export interface Try {
  /** An address, or several of a name, which the client tries one after another (happy eyeballs). */
  to: string | readonly string[];
  port: number;
  localPort: number;
  /** Milliseconds until the client gives up. By default `leastMs`, and as long as the kernel needs to repeat the first packet. */
  within?: number | undefined;
  /** The source address, if it is not the Pod's own. */
  from?: string | undefined;
}

export interface Tried {
  outcome: Outcome;
  /** By the guest's clock. */
  began: number;
  ended: number;
}

/** `connected`, `gave up`, or the code of the error. */
export type Outcome = string;

type Order =
  | { connect: readonly Try[] }
  | { listen: readonly number[] }
  | { open: Many }
  | { send: Many }
  | { serve: true }
  | { loop: readonly Loop[] }
  | { stop: true };

/** Out of thousands of packets, a slow kernel repeats the last ones late. */
const mostly = 0.95;

export interface Many {
  to: string;
  port: number;
  count: number;
}

export interface PodProcess {
  process: ReturnType<typeof spawnInPod>;
  /**
   * Opens connections that nobody answers. Resolves when the kernel has repeated their first packets; they stay open.
   */
  open: (many: Many) => Promise<void>;
  /** Sends UDP packets. */
  send: (many: Many) => Promise<void>;
  /** Tries all of them at the same time. */
  connect: (tries: readonly Try[]) => Promise<Tried[]>;
  /** Accepts connections on these ports, and closes them. */
  listen: (ports: readonly number[]) => Promise<void>;
  /** Answers on the ports of `guest-loops.ts`. */
  serve: () => Promise<void>;
  /** Runs until `stop`. */
  loop: (loops: readonly Loop[]) => Promise<void>;
  stop: () => Promise<LoopCounts[]>;
}

/** A program in the network and in the cgroup of a Pod. */
export function spawnInPod(netns: string, uid: string, program: string) {
  const group = `${burstable}/kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice/cri-containerd-0.scope`;
  mkdirSync(group, { recursive: true });
  const command = `exec /usr/sbin/ip netns exec ${netns} ${program}`;
  return spawn('/bin/busybox', ['sh', '-c', `echo $$ > ${group}/cgroup.procs && ulimit -n 20000 && ${command}`]);
}

/** `before`: a program that starts the Pod's program. */
export function startPod(netns: string, uid: string, before = ''): PodProcess {
  const child = spawnInPod(netns, uid, `${before} /bin/node /program.cjs ${podProgram}`);
  child.stderr.setEncoding('utf8').on('data', (text: string) => print('failed', `Pod ${netns}: ${text}`));
  const waiting: ((answer: unknown) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.(JSON.parse(line)));
  const tell = (order: Order): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    process: child,
    open: async (many) => void (await tell({ open: many })),
    send: async (many) => void (await tell({ send: many })),
    connect: async (tries) => (await tell({ connect: tries })) as Tried[],
    listen: async (ports) => void (await tell({ listen: ports })),
    serve: async () => void (await tell({ serve: true })),
    loop: async (loops) => void (await tell({ loop: loops })),
    stop: async () => (await tell({ stop: true })) as LoopCounts[],
  };
}

/** The program in the Pod. */
export async function runPod(): Promise<void> {
  const loops: ReturnType<typeof startLoop>[] = [];
  for await (const line of createInterface(process.stdin)) {
    const answers = await obey(JSON.parse(line) as Order);
    process.stdout.write(`${JSON.stringify(answers ?? null)}\n`);
  }

  async function obey(order: Order): Promise<unknown> {
    if ('connect' in order) return Promise.all(order.connect.map(attempt));
    if ('open' in order) return openMany(order.open);
    if ('send' in order) return sendMany(order.send);
    if ('listen' in order) return Promise.all(order.listen.map(listen));
    if ('serve' in order) return startServers();
    if ('loop' in order) return loops.push(...order.loop.map(startLoop));
    return Promise.all(loops.splice(0).map((stop) => stop()));
  }
}

async function openMany({ to, port, count }: Many): Promise<void> {
  for (let opened = 0; opened < count; opened++) {
    connect({ host: to, port }).on('error', ({ message }) => process.stderr.write(message));
    // Lets timers and the first packets have their turn.
    if (opened % 256 === 255) await pause(1);
  }
  while (repeatedPorts().size < count * mostly) await pause(200);
}

async function sendMany({ to, port, count }: Many): Promise<void> {
  const socket = createSocket('udp4');
  for (let sent = 0; sent < count; sent++)
    await new Promise<void>((resolve) => socket.send('x', port, to, () => resolve()));
  socket.close();
}

function listen(port: number): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => {}).end());
  return new Promise((resolve) => server.listen({ port, host: '::' }, resolve));
}

function attempt({ to, port, localPort, within, from }: Try): Promise<Tried> {
  const began = Date.now();
  return new Promise((resolve) => {
    const socket = connect({ ...hostOf(to), port, localPort, ...(from !== undefined && { localAddress: from }) });
    let timer = setTimeout(giveUp, within ?? leastMs);
    socket.on('connect', () => end('connected')).on('error', ({ code = '' }: NodeJS.ErrnoException) => end(code));

    function giveUp(): void {
      // A slow processor sends the first packet late. An early end would look like a client that closed the connection
      // before the packet was repeated.
      if (within === undefined && !repeatedPorts().has(localPort)) timer = setTimeout(giveUp, 200);
      // An answer that has come in the meantime is taken first, because on a slow processor both may be late.
      else setImmediate(end, 'gave up');
    }

    function end(outcome: Outcome): void {
      clearTimeout(timer);
      socket.destroy();
      resolve({ outcome, began, ended: Date.now() });
    }
  });
}

/** The local ports of this network's connections whose first packet the kernel has repeated. */
function repeatedPorts(): ReadonlySet<number> {
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => readFileSync(path, 'latin1').split('\n'));
  const ports = rows.flatMap((row) => {
    // NUMBER: LOCAL REMOTE STATE QUEUES TIMER RETRANSMITS …; 02 is SYN_SENT.
    const [, local = '', , state, , , retransmits] = row.trim().split(/ +/);
    const isRepeated = state === '02' && Number(retransmits) > 0;
    return isRepeated ? Number.parseInt(local.split(':')[1] ?? '', 16) : [];
  });
  return new Set(ports);
}

function hostOf(to: Try['to']) {
  if (typeof to === 'string') return { host: to };
  const found = to.map((address) => ({ address, family: isIP(address) }));
  const lookup = ((_, __, callback) => callback(null, found)) as LookupFunction;
  return { host: 'name.example', lookup, autoSelectFamily: to.some(isIPv6), autoSelectFamilyAttemptTimeout: 250 };
}
