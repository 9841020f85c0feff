/** The only process of the guest: makes Pods, drops their packets, and prints what the source hands over. */
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createKernelDrops, obstacleOf } from '../../../src/sources/tracefs/kernel-drops.ts';
import { defaultTracefs as tracefs } from '../../../src/sources/tracefs/trace.ts';
import { cases, pods } from './cases.ts';

const shell = '/bin/busybox';
const own = new Set(['ip', 'tc', 'nft', 'iptables', 'ip6tables']);

/** What is no program of its own is one of busybox. */
function wordsOf(command: string): [string, string[]] {
  const [program = '', ...args] = command.split(' ').flatMap((word, index, all) => {
    const isProgram = index === 0 || (all[index - 2] === 'exec' && all[0] === 'ip') || all[index - 2] === 'timeout';
    if (!isProgram) return [word];
    return own.has(word) ? [`/usr/sbin/${word}`] : [shell, word];
  });
  return [program, args];
}

function run(command: string, input = ''): void {
  try {
    execFileSync(...wordsOf(command), { input, stdio: ['pipe', 'ignore', 'pipe'] });
  } catch (error) {
    print('failed', `${command}: ${String(error)}`);
  }
}

/** Succeeds or fails: most of what is tried comes to nothing. */
function attempt(command: string): Promise<void> {
  return new Promise((resolve) => execFile(...wordsOf(command), () => resolve()));
}

function print(kind: string, value: unknown): void {
  appendFileSync('/dev/console', `\n@${kind} ${JSON.stringify(value)}\n`);
}

/** The one process is not to end before the machine is switched off: the kernel would call that a fault. */
process.on('uncaughtException', (error) => {
  print('failed', String(error.stack));
  execFileSync(shell, ['poweroff', '-f']);
});

function mount(): void {
  // Until this is mounted there is no /dev/null.
  execFileSync(shell, ['mount', '-t', 'devtmpfs', 'devtmpfs', '/dev'], { stdio: 'inherit' });
  for (const [type, folder] of [
    ['proc', '/proc'],
    ['sysfs', '/sys'],
    ['tmpfs', '/run'],
    ['tracefs', tracefs],
  ])
    run(`mount -t ${type} ${type} ${folder}`);
}

function makeNetwork(): void {
  for (const path of (process.env['MODULES'] ?? '').split(' ')) run(`insmod /${path}`);
  for (const file of ['ipv4/ip_forward', 'ipv6/conf/all/forwarding']) writeFileSync(`/proc/sys/net/${file}`, '1');
  for (const name of ['a', 'b', 'c', 'd', 'e']) run(`ip netns add ${name}`);
  const commands = [
    'link set lo up',
    ...pods.flatMap(({ netns, device }) => [`link add ${device} type veth peer name eth0 netns ${netns}`]),
    ...pods.flatMap(({ device, address, address6 }) => [
      `link set ${device} up`,
      `addr add 10.244.1.1/32 dev ${device}`,
      `addr add fe80::1/64 dev ${device} nodad`,
      `route add ${address}/32 dev ${device}`,
      `route add ${address6}/128 dev ${device}`,
    ]),
    // Two Pods of one bridge.
    'link add br0 type bridge',
    'addr add 10.3.0.1/24 dev br0',
    'link set br0 up',
    ...['c', 'd'].flatMap((name) => [
      `link add v${name} type veth peer name eth0 netns ${name}`,
      `link set v${name} master br0 up`,
    ]),
    // Another node, with a tunnel.
    'link add ve type veth peer name eth0 netns e',
    'addr add 10.4.0.1/24 dev ve',
    'link set ve up',
    'link add vx type vxlan id 7 remote 10.4.0.2 local 10.4.0.1 dstport 4789',
    'addr add 10.5.0.1/24 dev vx',
    'link set vx up',
  ];
  const inside = {
    ...Object.fromEntries(pods.map(({ netns, address, address6 }) => [netns, podCommands(address, address6)])),
    c: ['addr add 10.3.0.2/24 dev eth0', 'link set eth0 up', 'route add default via 10.3.0.1'],
    d: ['addr add 10.3.0.3/24 dev eth0', 'link set eth0 up', 'route add default via 10.3.0.1'],
    e: [
      'addr add 10.4.0.2/24 dev eth0',
      'link set eth0 up',
      'link add vx type vxlan id 7 remote 10.4.0.1 local 10.4.0.2 dstport 4789',
      'addr add 10.5.0.2/24 dev vx',
      'link set vx up',
      'route add 10.244.1.21 via 10.5.0.1',
    ],
  };
  run('ip -batch -', commands.join('\n'));
  for (const [name, lines] of Object.entries(inside)) run(`ip -n ${name} -batch -`, lines.join('\n'));
}

function podCommands(address: string, address6: string): string[] {
  return [
    'link set lo up',
    'link set eth0 up',
    `addr add ${address}/32 dev eth0`,
    `addr add ${address6}/128 dev eth0 nodad`,
    'route add 10.244.1.1 dev eth0',
    'route add default via 10.244.1.1',
    'route add default via fe80::1 dev eth0',
  ];
}

const wait = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

async function main(): Promise<void> {
  mount();
  makeNetwork();
  print('kernel', readFileSync('/proc/sys/kernel/osrelease', 'latin1').trim());
  print('obstacle', obstacleOf(tracefs) ?? 'none');
  let lines = 0;
  const listener = {
    take({ text }: { text: string }): void {
      lines++;
      print('line', text);
    },
    lost: (loss: unknown) => print('lost', loss),
    notice: (notice: unknown) => print('notice', notice),
  };
  const source = createKernelDrops({ tracefs, listener });
  for (const command of cases.flatMap(({ before = [] }) => before)) run(command);
  source.start();
  await wait(100);
  await Promise.all(cases.map((each) => attempt(each.run)));
  // A neighbour is given up after three seconds.
  await wait(4000);
  print('lines', lines);
  source.stop();
  print('left', {
    instances: readdirSync(`${tracefs}/instances`),
    probes: readFileSync(`${tracefs}/dynamic_events`, 'latin1'),
    group: existsSync(`${tracefs}/events/kube_netfilter_tailer_drops`),
  });
  execFileSync(shell, ['poweroff', '-f']);
}

void main();
