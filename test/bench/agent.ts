/**
 * `npm run bench -- agent`: the agent's bundle against a real API server. What an idle node costs, how long it takes from a
 * logged drop to a visible Event, and what `POD_CACHE=cluster` costs with many Pods.
 *
 *     npm run bench -- agent                     all, 20,000 Pods in the cluster
 *     npm run bench -- agent --pods 2000
 */
import { execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/events/describe.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { imageCommand } from '../deploy/image-command.ts';
import { preparePrograms } from '../programs/install.ts';
import { agentToken, createPods } from './cluster.ts';
import { benchNode, benchPod } from './pods.ts';

const root = new URL('../..', import.meta.url).pathname;
const bundle = join(root, 'dist/kube-netfilter-tailer.cjs');
const image = imageCommand();
const ownNode = 'node-000';
const podsOfNode = 110;
const podsPerNode = 100;
const idleSeconds = 60;
const samples = 100;

const { values } = parseArgs({ options: { pods: { type: 'string', default: '20000' } } });
const clusterPods = Number(values.pods);

await preparePrograms('measuring');
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
const plane = await startControlPlane();
try {
  const kubeconfig = await plane.writeKubeconfig('agent', await agentToken(plane));
  await createObjects(plane, { items: [benchNode(0)] });
  await createPods(plane, 0, podsOfNode, () => 0);

  const rows: string[][] = [['what', 'figure', 'aim']];
  await idle(kubeconfig, rows);
  await latency(plane, kubeconfig, rows);
  await createPods(plane, podsOfNode, clusterPods, (number) => 1 + Math.floor(number / podsPerNode));
  await clusterCache(kubeconfig, rows);
  console.log(`\n${alignColumns(rows).join('\n')}`);
} finally {
  await plane.stop();
  rmSync(folder, { recursive: true });
}

async function idle(kubeconfig: string, rows: string[][]): Promise<void> {
  const agent = await start(kubeconfig, { SOURCES: 'kernel' });
  await delay(10_000);
  const before = { cpu: cpuSeconds(agent.pid), requests: await agent.requests() };
  await delay(idleSeconds * 1000);
  const cpu = (cpuSeconds(agent.pid) - before.cpu) / idleSeconds;
  const requests = (await agent.requests()) - before.requests;
  rows.push(
    [`idle, ${podsOfNode} Pods: memory (RSS)`, megabytes(agent.pid, 'VmRSS'), '90 MB'],
    ['idle: CPU', `${(cpu * 100).toFixed(2)} % of a core`, '0.5 %'],
    ['idle: requests (lists, look-ups, Events)', `${requests} in ${idleSeconds} s`, ''],
  );
  await agent.stop();
}

/** Measures from a line in a log to the Event that a watch of the API server shows. */
async function latency(connection: Connection, kubeconfig: string, rows: string[][]): Promise<void> {
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  const agent = await start(kubeconfig, { SOURCES: `file:${log}` });
  const events = watchEvents(connection);
  const took: number[] = [];
  for (let number = 0; number < samples; number++) {
    const { podIP } = benchPod(number % podsOfNode, 0).status;
    const port = 20_000 + number;
    const written = performance.now();
    appendFileSync(
      log,
      `${new Date().toISOString()} ${ownNode} kernel: calico-drop: IN=eth0 OUT=cali0 SRC=203.0.113.9 DST=${podIP} LEN=60 TOS=0x00 PREC=0x00 TTL=62 ID=1 DF PROTO=TCP SPT=40000 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0\n`,
    );
    await events.until((message) => message.includes(`port ${port}/TCP`));
    took.push(performance.now() - written);
  }
  events.stop();
  took.sort((a, b) => a - b);
  const quantile = (q: number): string =>
    `${((took[Math.min(took.length - 1, Math.floor(took.length * q))] ?? 0) / 1000).toFixed(2)} s`;
  rows.push([`drop → visible Event, ${samples} Events: p50, p99`, `${quantile(0.5)}, ${quantile(0.99)}`, '2 s']);
  await agent.stop();
}

async function clusterCache(kubeconfig: string, rows: string[][]): Promise<void> {
  for (const [name, flags] of [
    ['', image.flags],
    [', heap held to 96 MB', [...image.flags, '--max-old-space-size=96']],
  ] as const) {
    const began = performance.now();
    const agent = await start(kubeconfig, { SOURCES: 'kernel', POD_CACHE: 'cluster' }, flags);
    const seconds = (performance.now() - began) / 1000;
    await delay(15_000);
    rows.push([
      `POD_CACHE=cluster, ${clusterPods.toLocaleString('en-US')} Pods${name}: memory, peak, ready after`,
      `${megabytes(agent.pid, 'VmRSS')}, ${megabytes(agent.pid, 'VmHWM')}, ${seconds.toFixed(1)} s`,
      '150 MB',
    ]);
    await agent.stop();
  }
}

interface Running {
  pid: number;
  /** Requests to the API server so far. */
  requests: () => Promise<number>;
  stop: () => Promise<void>;
}

async function start(
  kubeconfig: string,
  settings: Record<string, string>,
  flags: readonly string[] = image.flags,
): Promise<Running> {
  const env = {
    NODE_NAME: ownNode,
    KUBECONFIG: kubeconfig,
    STATE_DIR: mkdtempSync(join(folder, 'state-')),
    METRICS_ADDRESS: '127.0.0.1:0',
    // The DNS of this machine is not measured.
    REVERSE_DNS: 'false',
    ...image.allocator,
    ...settings,
  };
  const child = spawn(process.execPath, [...flags, bundle, 'run'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const { promise: started, resolve: onStarted } = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => {
    const entry = JSON.parse(line) as { metricsAddress?: string; level: string };
    if (entry.metricsAddress !== undefined) onStarted(entry.metricsAddress);
    if (entry.level !== 'info') console.error(line);
  });
  const address = await started;
  while (!(await fetch(`http://${address}/readyz`)).ok) await delay(50);
  return {
    pid: child.pid ?? 0,
    async requests() {
      const text = await (await fetch(`http://${address}/metrics`)).text();
      const counts = text.matchAll(/^kube_netfilter_tailer_api_requests_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    async stop() {
      child.kill();
      await exited;
    },
  };
}

function watchEvents({ server, certificateAuthority, adminToken }: Connection): {
  until: (matches: (message: string) => boolean) => Promise<void>;
  stop: () => void;
} {
  const messages: string[] = [];
  const changes = new EventEmitter();
  const agent = new Agent({ ca: certificateAuthority });
  const request = get(
    `${server}/api/v1/events?watch=true`,
    { agent, headers: { authorization: `Bearer ${adminToken}` } },
    (response) => {
      response.on('error', () => {});
      createInterface(response)
        .on('error', () => {})
        .on('line', (line) => {
          messages.push((JSON.parse(line) as { object: { message?: string } }).object.message ?? '');
          changes.emit('change');
        });
    },
  );
  request.on('error', () => {});
  return {
    async until(matches) {
      while (!messages.some(matches)) await once(changes, 'change');
      messages.length = 0;
    },
    stop: () => void request.destroy(),
  };
}

function megabytes(pid: number, field: 'VmRSS' | 'VmHWM'): string {
  const kilobytes = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return `${Math.round((Number(kilobytes) * 1024) / 1e6)} MB`;
}

/** User and system time (proc(5), fields 14 and 15 of stat, in hundredths of a second). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
