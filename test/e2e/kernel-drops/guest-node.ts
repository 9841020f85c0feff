/** What programs of the guest have in common. Each is its only process at first, and makes it a node with Pods. */
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { defaultTracefs as tracefs } from '../../../src/read/sources/tracefs/trace.ts';

const shell = '/bin/busybox';
const own = new Set(['ip', 'tc', 'nft', 'iptables', 'ip6tables']);

export interface GuestPod {
  /** Its network namespace. */
  netns: string;
  /** The node's end of its link. */
  device: string;
  address: string;
  address6?: string;
}

/** A word that is not a program of its own is a command of busybox. */
function wordsOf(command: string): [string, string[]] {
  const [program = '', ...args] = command.split(' ').flatMap((word, index, all) => {
    const isProgram = index === 0 || (all[index - 2] === 'exec' && all[0] === 'ip') || all[index - 2] === 'timeout';
    if (!isProgram) return [word];
    return own.has(word) ? [`/usr/sbin/${word}`] : [shell, word];
  });
  return [program, args];
}

export function run(command: string, input = ''): void {
  try {
    execFileSync(...wordsOf(command), { input, stdio: ['pipe', 'ignore', 'pipe'] });
  } catch (error) {
    print('failed', `${command}: ${String(error)}`);
  }
}

/** Runs a command that may fail, as most of what is tried does. */
export function attempt(command: string): Promise<void> {
  return new Promise((resolve) => execFile(...wordsOf(command), () => resolve()));
}

export function print(kind: string, value: unknown): void {
  appendFileSync('/dev/console', `\n@${kind} ${JSON.stringify(value)}\n`);
}

export function switchOff(): void {
  execFileSync(shell, ['poweroff', '-f']);
}

export const wait = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

/** Mounts what a node has mounted, and loads the modules. */
export function begin(): void {
  // The only process must not end before the machine is switched off, because the kernel would report a fault.
  process.on('uncaughtException', (error) => {
    print('failed', String(error.stack));
    switchOff();
  });
  // Until this is mounted there is no /dev/null.
  execFileSync(shell, ['mount', '-t', 'devtmpfs', 'devtmpfs', '/dev'], { stdio: 'inherit' });
  for (const [type, folder] of [
    ['proc', '/proc'],
    ['sysfs', '/sys'],
    ['tmpfs', '/run'],
    ['tracefs', tracefs],
  ])
    run(`mount -t ${type} ${type} ${folder}`);
  for (const path of (process.env['MODULES'] ?? '').split(' ')) run(`insmod /${path}`);
  for (const file of ['ipv4/ip_forward', 'ipv6/conf/all/forwarding']) writeFileSync(`/proc/sys/net/${file}`, '1');
  run('ip link set lo up');
  setInterval(() => print('alive', performance.now()), 30_000).unref();
  print('kernel', readFileSync('/proc/sys/kernel/osrelease', 'latin1').trim());
}

/** Makes Pods, each behind a link of its own, between which the node routes. */
export function addPods(pods: readonly GuestPod[], gateway: string): void {
  for (const { netns } of pods) run(`ip netns add ${netns}`);
  const links = pods.flatMap(({ netns, device, address, address6 }) => [
    `link add ${device} type veth peer name eth0 netns ${netns}`,
    `link set ${device} up`,
    `addr add ${gateway}/32 dev ${device}`,
    `addr add fe80::1/64 dev ${device} nodad`,
    `route add ${address}/32 dev ${device}`,
    ...(address6 === undefined ? [] : [`route add ${address6}/128 dev ${device}`]),
  ]);
  run('ip -batch -', links.join('\n'));
  for (const { netns, address, address6 } of pods) {
    const inside = [
      'link set lo up',
      'link set eth0 up',
      `addr add ${address}/32 dev eth0`,
      ...(address6 === undefined ? [] : [`addr add ${address6}/128 dev eth0 nodad`]),
      `route add ${gateway} dev eth0`,
      `route add default via ${gateway}`,
      'route add default via fe80::1 dev eth0',
    ];
    run(`ip -n ${netns} -batch -`, inside.join('\n'));
  }
}
