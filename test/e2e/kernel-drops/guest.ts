/**
 * The first process of the guest: makes Pods, drops their packets, and prints what the source hands over. Then the
 * agent itself reads the source, or Pods flood it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createKernelDrops, kernelDropsObstacle } from '../../../src/read/sources/tracefs/kernel-drops.ts';
import { defaultTracefs as tracefs } from '../../../src/read/sources/tracefs/trace.ts';
import { cases, pods } from './cases.ts';
import { tryAgent } from './guest-agent.ts';
import { tryFloods } from './guest-floods.ts';
import { addPods, attempt, begin, print, run, switchOff, wait } from './guest-node.ts';
import { podProgram, runPod } from './guest-pod.ts';
import { sceneFile } from './scene.ts';

function makeNetwork(): void {
  addPods(pods, '10.244.1.1');
  for (const name of ['c', 'd', 'e']) run(`ip netns add ${name}`);
  const commands = [
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

function printLeft(): void {
  print('left', {
    instances: readdirSync(`${tracefs}/instances`),
    probes: readFileSync(`${tracefs}/dynamic_events`, 'latin1'),
    groups: readdirSync(`${tracefs}/events`).filter((name) => name.startsWith('kube_netfilter_tailer')),
  });
}

async function tryCases(): Promise<void> {
  print('obstacle', kernelDropsObstacle(tracefs) ?? 'none');
  const seen = { lines: 0, isGivenUp: false };
  const listener = {
    take({ text }: { text: string }): void {
      seen.lines++;
      seen.isGivenUp ||= text.includes('NEIGH_FAILED');
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
  // A neighbour is given up after three seconds, or later by a slow processor. If it is not, the test says so.
  await wait(4000);
  for (const deadline = performance.now() + 60_000; !seen.isGivenUp && performance.now() < deadline;) await wait(100);
  print('lines', seen.lines);
  source.stop();
}

async function main(): Promise<void> {
  begin();
  run('mount -t cgroup2 cgroup2 /sys/fs/cgroup');
  makeNetwork();
  await tryCases();
  printLeft();
  // Each runs in one of the guests, which run at the same time.
  await (existsSync(sceneFile) ? tryAgent() : tryFloods());
  printLeft();
  print('end', true);
  switchOff();
}

void (process.argv[2] === podProgram ? runPod() : main());
