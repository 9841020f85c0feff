/** What `npm run bench -- kerneldrops` does in the guest. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createKernelDrops } from '../../src/read/sources/tracefs/kernel-drops.ts';
import { defaultTracefs as tracefs } from '../../src/read/sources/tracefs/trace.ts';
import { type GuestAgent, makeScene, startAgent } from '../e2e/kernel-drops/guest-agent.ts';
import { begin, print, run, switchOff, wait } from '../e2e/kernel-drops/guest-node.ts';
import type { Scene } from '../e2e/kernel-drops/scene.ts';
import { valueIn } from '../e2e/scraped.ts';
import { processorTimeOf } from './used.ts';

const { packets, runs, rates, seconds } = JSON.parse(readFileSync('/bench.json', 'utf8')) as {
  packets: number;
  runs: number;
  rates: number[];
  seconds: number;
};
const generator = '/proc/net/pktgen';

type Pod = Scene['pods'][number];

interface Traffic {
  to: string;
  /** The device's own MAC address. */
  mac: string;
  count: number;
  /** Packets a second; undefined: as many as possible. */
  rate?: number;
}

/** Prepares the kernel's packet generator. Its packets arrive through a Pod's device. */
async function prepare({ address, device }: Pod, { to, mac, count, rate }: Traffic): Promise<void> {
  writeFileSync(`${generator}/kpktgend_0`, 'rem_device_all');
  // The generator's thread removes the devices when it wakes, every tenth of a second.
  await wait(300);
  writeFileSync(`${generator}/kpktgend_0`, `add_device ${device}`);
  const settings = [
    'xmit_mode netif_receive',
    // A burst sends one allocated packet this many times.
    `burst ${rate === undefined ? 64 : 1}`,
    `count ${count}`,
    ...(rate === undefined ? ['delay 0'] : [`ratep ${rate}`]),
    'pkt_size 60',
    `dst ${to}`,
    `dst_mac ${mac}`,
    `src_min ${address}`,
    `src_max ${address}`,
    'udp_dst_min 5000',
    'udp_dst_max 5000',
  ];
  for (const setting of settings) writeFileSync(`${generator}/${device}`, setting);
}

/** Sends; returns the number of packets and the nanoseconds that they took. */
async function send(pod: Pod, traffic: Traffic, stopAfter?: number): Promise<{ count: number; time: number }> {
  await prepare(pod, traffic);
  // The write of `start` returns after the last packet. Unless the sending is to be stopped, this process waits, so
  // that its own reading takes no processor time from the sending.
  const start = ['sh', '-c', `echo start > ${generator}/pgctrl`];
  if (stopAfter === undefined) execFileSync('/bin/busybox', start);
  else {
    const ended = once(spawn('/bin/busybox', start), 'close');
    await Promise.race([ended, wait(stopAfter)]);
    stopSending();
    await ended;
  }
  const text = readFileSync(`${generator}/${pod.device}`, 'latin1');
  const [, time, count] = /Result: OK: (\d+)\(.*?\) usec, (\d+) /.exec(text) ?? [];
  if (time === undefined) print('failed', text);
  return { count: Number(count), time: Number(time) * 1000 };
}

function stopSending(): void {
  writeFileSync(`${generator}/pgctrl`, 'stop\n');
}

/**
 * Measures the cost, with and without the probe, of packets that are forwarded, refused for a reason that is not
 * reported, and dropped by a rule.
 */
async function measureKernel(pod: Pod, mac: string): Promise<void> {
  const kinds = {
    forwarded: { to: '10.250.0.1', mac },
    // Nothing listens at that port of the node.
    untold: { to: '10.244.1.1', mac },
    told: { to: '10.250.7.7', mac },
  };
  const listener = { take() {}, lost() {}, notice: (notice: unknown) => print('notice', notice) };
  for (let count = 0; count < runs; count++)
    for (const probe of ['off', 'on'] as const) {
      const source = createKernelDrops({ tracefs, listener });
      if (probe === 'on') {
        source.start();
        // After the first line, the source narrows its filter.
        await send(pod, { ...kinds.told, count: 1, rate: 1000 });
        await wait(300);
      }
      for (const [kind, traffic] of Object.entries(kinds)) {
        const { count: sent, time } = await send(pod, { ...traffic, count: packets });
        print('packet', { probe, kind, each: time / sent });
      }
      source.stop();
    }
}

/** Reads the numbers of a scrape. */
async function numbersOf(agent: GuestAgent): Promise<{ counted: number; lost: number }> {
  const text = await agent.get('/metrics');
  return {
    counted: valueIn(text, 'packets_total', 'verdict="dropped"'),
    lost: valueIn(text, 'lost_records_total', 'source="kernel-drops"'),
  };
}

/** Waits until all that was sent was counted, or is known to be lost. */
async function settled(agent: GuestAgent): Promise<{ counted: number; lost: number }> {
  for (let last = await numbersOf(agent); ;) {
    await wait(1000);
    const now = await numbersOf(agent);
    if (now.counted === last.counted && now.lost === last.lost) return now;
    last = now;
  }
}

/** Measures from the start of the agent, while a packet is dropped every 20 ms. */
async function measureFirstEvent(scene: Scene, pod: Pod, traffic: Omit<Traffic, 'count'>): Promise<GuestAgent> {
  const sending = send(pod, { ...traffic, count: 0, rate: 50 }, 60_000);
  const began = performance.now();
  const agent = startAgent(scene);
  const seen = new Map<string, number>();
  const marks = {
    reading: /_source_state\{source="kernel-drops",state="reading"\} 1$/m,
    event: /_event_writes_total\{verb="create",result="ok"\} [1-9]/m,
  };
  while (seen.size < 2 && performance.now() - began < 60_000) {
    await wait(100);
    const text = await agent.get('/metrics');
    for (const [name, mark] of Object.entries(marks))
      if (!seen.has(name) && mark.test(text)) seen.set(name, Math.round(performance.now() - began));
  }
  print('first', Object.fromEntries(seen));
  stopSending();
  await sending;
  return agent;
}

const cpuOf = ({ process: { pid = 0 } }: GuestAgent): number => processorTimeOf(pid);

async function measureAgent(agent: GuestAgent, pod: Pod, traffic: Omit<Traffic, 'count'>): Promise<void> {
  await settled(agent);
  const before = cpuOf(agent);
  await wait(10_000);
  const idle = (cpuOf(agent) - before) / 10;
  print('idle', idle);
  for (const rate of rates) {
    const [cpu, was] = [cpuOf(agent), await settled(agent)];
    const began = performance.now();
    const { count, time } = await send(pod, { ...traffic, count: rate * seconds, rate });
    const took = cpuOf(agent) - cpu - (idle * (performance.now() - began)) / 1000;
    const { counted, lost } = await settled(agent);
    print('rate', {
      rate,
      real: (count / time) * 1e9,
      cpu: took,
      count,
      counted: counted - was.counted,
      lost: lost - was.lost,
    });
  }
}

async function measureFlood(agent: GuestAgent, pod: Pod, traffic: Omit<Traffic, 'count'>): Promise<void> {
  const was = await settled(agent);
  const [cpu, began] = [cpuOf(agent), performance.now()];
  const sending = send(pod, { ...traffic, count: 0 }, seconds * 1000);
  const health: number[] = [];
  const end = began + seconds * 1000;
  while (performance.now() < end) {
    const asked = performance.now();
    const answer = await fetch('http://127.0.0.1:9100/healthz').catch(() => undefined);
    health.push(answer?.status === 200 ? Math.round(performance.now() - asked) : -1);
    await wait(500);
  }
  const share = (cpuOf(agent) - cpu) / ((performance.now() - began) / 1000);
  const { count } = await sending;
  const { counted, lost } = await settled(agent);
  print('flood', { count, seconds, share, health, counted: counted - was.counted, lost: lost - was.lost });
}

async function main(): Promise<void> {
  begin();
  const scene = await makeScene();
  const [pod, web] = scene.pods;
  if (pod === undefined || web === undefined) throw new Error('no Pods');
  run('ip link add d0 type dummy');
  run('ip link set d0 up arp off');
  run('ip route add 10.250.0.0/16 dev d0');
  run('iptables -A FORWARD -d 10.250.7.7 -j DROP');
  run(`iptables -A FORWARD -d ${web.address} -j DROP`);
  const mac = readFileSync(`/sys/class/net/${pod.device}/address`, 'latin1').trim();
  await measureKernel(pod, mac);
  const traffic = { to: web.address, mac };
  const agent = await measureFirstEvent(scene, pod, traffic);
  await measureAgent(agent, pod, traffic);
  await measureFlood(agent, pod, traffic);
  // At most half a minute after its last write, the Event says what was lost.
  await wait(35_000);
  await agent.end('SIGTERM');
  print('end', true);
  switchOff();
}

void main();
