/**
 * The first process of the guest: Pods try connections that fail, while an agent runs and a busy node's other traffic
 * goes on.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import {
  type ConnectPod,
  type ConnectScene,
  type ConnectsScene,
  gateway,
  outside,
  port,
  receiverOf,
  scenes,
  senders,
  short,
} from './connect-scenes.ts';
import { makeScene, startAgent } from './guest-agent.ts';
import { begin, print, run, switchOff, wait } from './guest-node.ts';
import { type PodProcess, podProgram, runPod, spawnInPod, startPod, type Tried } from './guest-pod.ts';
import { xdpDrop } from './xdp-drop.ts';

const mac = '02:62:00:00:00:02';

function prepare({ pods, service }: ConnectsScene): void {
  const podNamed = podsByName(pods);
  writeFileSync('/run/drop.o', xdpDrop());
  const forward = ['table inet scenes {', 'chain forward {', 'type filter hook forward priority 0;'];
  for (const [index, { from, there, here, before = [], to, name }] of scenes.entries()) {
    const receiver = podNamed(receiverOf(index));
    const { netns, address, device } = receiver;
    if (name.startsWith('XDP')) {
      // The XDP program also drops requests for the link's address.
      run(`ip -n ${netns} link set dev eth0 address ${mac}`);
      run(`ip neigh replace ${address} lladdr ${mac} dev ${device} nud permanent`);
    }
    if (there !== undefined)
      run(
        `ip netns exec ${netns} nft -f -`,
        `table inet scenes {\nchain input {\ntype filter hook input priority 0;\n${there}\n}\n}\n`,
      );
    if (here !== undefined) forward.push(`ip daddr ${address} counter name "scene${index}" ${here}`);
    for (const command of before)
      run(command.replace('NETNS', netns).replace('SENDER', from).replace('ADDRESS', address));
    if (to === 'outside') {
      run(`ip route add ${outside}/32 via ${address} dev ${device} onlink`);
      run(`ip -n ${netns} route add blackhole ${outside}/32`);
    }
    if (to === 'Service') {
      const rule = `ip daddr ${service} tcp dport ${port} dnat to ${address}`;
      run('nft -f -', `table ip service {\nchain pre {\ntype nat hook prerouting priority dstnat;\n${rule}\n}\n}\n`);
    }
  }
  const counters = scenes.flatMap(({ here }, index) => (here === undefined ? [] : `counter scene${index} { }`));
  run('nft -f -', [forward[0], ...counters, ...forward.slice(1), '}', '}', ''].join('\n'));
  for (const { from, isForeign } of scenes)
    if (isForeign === true) run(`ip -n ${from} addr add ${podNamed('web').address}/32 dev lo`);
}

function podsByName(pods: readonly ConnectPod[]): (name: string) => ConnectPod {
  return (name) => pods.find((each) => each.name === name) as ConnectPod;
}

/** Servers that only accept, and one whose accept queue is full. */
async function startReceivers(podNamed: (name: string) => ConnectPod): Promise<void> {
  for (const [index, { name, outcome }] of scenes.entries()) {
    const { netns, address } = podNamed(receiverOf(index));
    const isFull = name === 'a full accept queue';
    if (!isFull && outcome !== 'connected') continue;
    if (isFull) run(`ip netns exec ${netns} sysctl net.core.somaxconn=1`);
    const args = `netns exec ${netns} /bin/busybox httpd -f -p ${port} -h /run`.split(' ');
    const server = spawn('/usr/sbin/ip', args, { stdio: 'ignore' });
    await untilAnswered(address);
    if (!isFull) continue;
    server.kill('SIGSTOP');
    // Until it is stopped, it would accept the connections that are to fill its queue.
    while (!isStopped(server.pid)) await wait(10);
    // One connection more than the queue has room for.
    for (let filling = 0; filling < 2; filling++) await untilAnswered(address, true);
  }
}

function isStopped(pid: number | undefined): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') T ');
}

/** Resolves when a connection is established. `isKept`: it stays open. */
async function untilAnswered(address: string, isKept = false): Promise<void> {
  for (;;) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: address, port });
      socket.on('connect', () => {
        if (!isKept) socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (isThere) return;
    await wait(100);
  }
}

interface Runner {
  podNamed: (name: string) => ConnectPod;
  processes: ReadonlyMap<string, PodProcess>;
  service: string;
}

/** Tries each scene once, all at the same time. */
async function tryAll({ podNamed, processes, service }: Runner, round: number): Promise<Tried[]> {
  return await Promise.all(
    scenes.map(async (scene, index) => {
      const { from, within, isForeign, isKilled } = scene;
      const receiver = podNamed(receiverOf(index));
      const to = addressesOf(scene, receiver, service);
      if (isKilled === true) return await kill(podNamed(from), String(to));
      // No port is used twice, because what a line reported about a connection is remembered by its port.
      const localPort = 20_000 + index * 400 + round;
      const other = isForeign === true ? podNamed('web').address : undefined;
      const [tried] = (await processes.get(from)?.connect([{ to, port, localPort, within, from: other }])) ?? [];
      return tried as Tried;
    }),
  );
}

function addressesOf({ to }: ConnectScene, { address, address6 }: ConnectPod, service: string): string | string[] {
  switch (to) {
    case 'IPv6':
      return address6;
    case 'mapped':
      return `::ffff:${address}`;
    case 'Service':
      return service;
    case 'outside':
      return outside;
    case 'both families':
      return [address6, address];
    default:
      return address;
  }
}

async function kill({ netns, uid }: ConnectPod, to: string): Promise<Tried> {
  const began = Date.now();
  const client = spawnInPod(netns, uid, `/bin/busybox nc ${to} ${port}`);
  const ended = new Promise((resolve) => client.on('close', resolve));
  // Its socket must exist before it is killed.
  while (!isSending(client.pid, to)) await wait(10);
  await wait(short);
  client.kill('SIGKILL');
  await ended;
  return { outcome: 'killed', began, ended: Date.now() };
}

/** Whether a socket in that process's network is in SYN_SENT. */
function isSending(pid: number | undefined, to: string): boolean {
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'latin1');
  return rows.includes(` ${hexOf(to)}:${port.toString(16).toUpperCase()} 02 `);
}

/** As /proc/net/tcp prints an address. */
function hexOf(address: string): string {
  return Buffer.from(address.split('.').map(Number).toReversed()).toString('hex').toUpperCase();
}

async function tell(scene: ConnectsScene, path: string, body: unknown): Promise<string> {
  const answer = await fetch(`http://10.0.2.2:${scene.tellPort}/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    // The answer may take minutes.
    signal: AbortSignal.timeout(900_000),
  });
  return await answer.text();
}

/** The milliseconds by which the other machine's clock is ahead. */
async function clockAhead(scene: ConnectsScene): Promise<number> {
  const before = Date.now();
  const theirs = Number(await tell(scene, 'now', {}));
  return theirs - (before + Date.now()) / 2;
}

async function tryScenes(): Promise<void> {
  const scene = (await makeScene(gateway)) as ConnectsScene;
  const podNamed = podsByName(scene.pods);
  prepare(scene);
  const names = [...senders, 'web'];
  const processes = new Map(names.map((name) => [name, startPod(podNamed(name).netns, podNamed(name).uid)]));
  await processes.get('web')?.serve();
  await startReceivers(podNamed);
  const agent = startAgent(scene);
  for (const source of ['kernel-drops', '/dev/kmsg'])
    await agent.until(new RegExp(`_source_state\\{source="${source}",state="reading"\\} 1$`, 'm'));
  const ahead = await clockAhead(scene);
  const began = Date.now();
  const to = podNamed('web').address;
  await processes.get('job')?.loop([
    { kind: 'http', to, beside: 2, pause: 20 },
    { kind: 'dns', to, beside: 2, pause: 20 },
    { kind: 'check', to, beside: 2, pause: 100 },
    { kind: 'closed', to, beside: scene.closedBeside, pause: 0 },
  ]);
  const rounds: Tried[][] = [];
  for (let round = 0; round < scene.rounds; round++) {
    const tried = await tryAll({ podNamed, processes, service: scene.service }, round);
    rounds.push(
      tried.map(({ outcome, began: from, ended }) => ({ outcome, began: from + ahead, ended: ended + ahead })),
    );
  }
  await wait(Math.max(0, began + scene.minutes * 60_000 - Date.now()));
  print('loops', { seconds: (Date.now() - began) / 1000, counts: await processes.get('job')?.stop() });
  const counters = String(execFileSync('/usr/sbin/nft', ['list', 'counters']));
  await tell(scene, 'tried', { rounds, counters });
  await agent.until(/_audit_open_flows 0$/m);
  await agent.until(/_audit_behind_rows\{[^}]*\} 0$/m);
  print('metrics', await agent.get('/metrics'));
  await agent.end('SIGTERM');
  const rows = '/run/state/flows.jsonl';
  print('rows', existsSync(rows) ? readFileSync(rows, 'utf8') : '');
}

async function main(): Promise<void> {
  begin();
  run('mount -t cgroup2 cgroup2 /sys/fs/cgroup');
  await tryScenes();
  print('end', true);
  switchOff();
}

void (process.argv[2] === podProgram ? runPod() : main());
