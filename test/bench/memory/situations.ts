import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { valueIn } from '../../e2e/scraped.ts';
import { benchPod } from '../pods.ts';
import { evict, type Image } from './image.ts';
import { startLimited } from './process.ts';
import { type Outcome, watched } from './trial.ts';

/** The folders of every run, and the cluster that agents find as in a Pod. */
export interface Scene {
  folder: string;
  /** A folder with token and ca.crt. */
  account: string;
  server: URL;
  stormSeconds: number;
  /** A saved cluster, and a log about it, for `replay`. */
  saved: { cluster: string; log: string };
}

/** One run under a limit in bytes. */
export type Situation = (scene: Scene, image: Image, limit: number) => Promise<Outcome>;

const stormPackets = 1_000_000;
export const stormPods = 390;
/** The number of the first Pod on the node with the storm. Lower numbers are on the node with 110 Pods. */
export const firstStormPod = 110;
/** By then, parts that start late have been read. */
const settleSeconds = 5;
const idleSeconds = 20;

/** Nothing happens except what a cluster asks for: health every ten seconds, metrics every five. */
export function idle(node: string, settings: Readonly<Record<string, string>> = {}): Situation {
  return (scene, image, limit) =>
    agentRun(scene, image, limit, { node, settings, within: 120 }, async ({ metrics, begin }) => {
      await delay(settleSeconds * 1000);
      begin();
      for (let second = 0; second < idleSeconds; second += 5) {
        await delay(5000);
        await metrics();
      }
    });
}

/** Each packet has a new source outside the cluster, and goes to the next Pod of the node. */
export function storm(node: string): Situation {
  return (scene, image, limit) =>
    agentRun(scene, image, limit, { node, settings: {}, within: 60 + 4 * scene.stormSeconds }, async (agent) => {
      await delay(settleSeconds * 1000);
      agent.begin();
      const started = performance.now();
      for (let written = 0; written < stormPackets;) {
        await delay(100);
        const share = Math.min(1, (performance.now() - started) / 1000 / scene.stormSeconds);
        const due = Math.floor(share * stormPackets);
        const lines: string[] = [];
        while (written < due) lines.push(dropLine(node, written++));
        appendFileSync(agent.log, lines.join(''));
        if (written % 20 === 0 && agent.ended()) throw new Error('it ended');
      }
      while (valueIn(await agent.metrics(), 'lines_total') < stormPackets) await delay(1000);
    });
}

/** Measured from start to end, with a log of 1 GB in which every tenth line is a drop. */
export const replay: Situation = ({ saved }, image, limit) => {
  evict(saved.log);
  const limited = startLimited(image, ['replay', '--quiet', '--pods', saved.cluster, saved.log], { limit, env: {} });
  return watched(limited, 600, async () => {
    const status = await limited.exited;
    if (status !== 0) throw new Error(`it ended with ${status ?? 'a signal'}`);
  });
};

interface Running {
  log: string;
  begin: () => void;
  metrics: () => Promise<string>;
  ended: () => boolean;
}

/** Runs an agent with its own log, state and cluster; measures from its first page to the end of `work`. */
async function agentRun(
  { folder, account, server }: Scene,
  image: Image,
  limit: number,
  { node, settings, within }: { node: string; settings: Readonly<Record<string, string>>; within: number },
  work: (running: Running) => Promise<void>,
): Promise<Outcome> {
  const own = mkdtempSync(join(folder, 'agent-'));
  const log = join(own, 'kern.log');
  writeFileSync(log, '');
  const env = {
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
    NODE_NAME: node,
    SOURCES: `file:${log},containers`,
    POD_LOGS: mkdtempSync(join(own, 'pods-')),
    STATE_DIR: join(own, 'state'),
    METRICS_ADDRESS: '127.0.0.1:0',
    // The DNS of this machine is not measured.
    REVERSE_DNS: 'false',
    ...settings,
  };
  const limited = startLimited(image, ['run'], { limit, account, env });
  try {
    return await watched(limited, within, async (begin) => {
      const address = await limited.printed(metricsAddress);
      const get = async (path: string): Promise<Response> => await fetch(`http://${address}${path}`);
      while (!(await get('/readyz')).ok) await delay(100);
      await work({ log, begin, metrics: async () => (await get('/metrics')).text(), ended: limited.ended });
    });
  } finally {
    rmSync(own, { recursive: true });
  }
}

function metricsAddress(line: string): string | undefined {
  const entry = JSON.parse(line) as { level: string; metricsAddress?: string };
  if (entry.level === 'error') console.error(line);
  return entry.metricsAddress;
}

function dropLine(node: string, number: number): string {
  const { podIP } = benchPod(firstStormPod + (number % stormPods), 0).status;
  // A multiplication by an odd number modulo 2^32 gives every number once.
  const stranger = Math.imul(number, 2_654_435_761) >>> 0;
  const source = [1 + ((stranger >>> 24) % 9), (stranger >>> 16) & 255, (stranger >>> 8) & 255, stranger & 255];
  const port = 1024 + ((number * 7) % 60_000);
  return (
    `${new Date().toISOString()} ${node} kernel: calico-drop: IN=eth0 OUT=cali0 SRC=${source.join('.')} DST=${podIP} ` +
    `LEN=60 TOS=0x00 PREC=0x00 TTL=62 ID=${number % 65_536} DF PROTO=TCP SPT=40000 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0\n`
  );
}
