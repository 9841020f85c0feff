import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { imageCommand } from '../deploy/image-command.ts';
import { valueIn } from '../e2e/scraped.ts';
import { usedBy } from './used.ts';

/** A process that follows one log. */
export interface Reader {
  /** User and system time since its start. */
  cpuSeconds: () => number;
  /** Resolves when this many more lines have been read. To be called before they are written. */
  untilRead: (lines: number) => Promise<void>;
  peakMegabytes: () => number;
  stop: () => Promise<void>;
}

export interface AgentReader extends Reader {
  /** The sum of a metric's series whose labels contain this text; the name is without the prefix. */
  metric: (name: string, labels?: string) => Promise<number>;
}

const image = imageCommand();

/** Resolves when the agent is ready. */
export async function startAgent(
  bundle: string,
  log: string,
  { kubeconfig, state }: { kubeconfig: string; state: string },
  more: Readonly<Record<string, string>> = {},
): Promise<AgentReader> {
  const env = {
    NODE_NAME: 'node-000',
    KUBECONFIG: kubeconfig,
    STATE_DIR: state,
    METRICS_ADDRESS: '127.0.0.1:0',
    REVERSE_DNS: 'false',
    SOURCES: `file:${log}`,
    ...image.allocator,
    ...more,
  };
  const child = spawn(process.execPath, [...image.flags, bundle, 'run'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const { promise: started, resolve } = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => {
    // Rows of the audit may be among the lines of the log; parsing them would take too long.
    if (!line.includes('"metricsAddress"')) return;
    const { metricsAddress } = JSON.parse(line) as { metricsAddress?: string };
    if (metricsAddress !== undefined) resolve(metricsAddress);
  });
  const address = await started;
  while (!(await fetch(`http://${address}/readyz`)).ok) await delay(50);
  const metric = async (name: string, labels?: string): Promise<number> =>
    valueIn(await (await fetch(`http://${address}/metrics`)).text(), name, labels);
  return {
    ...processReader(child),
    metric,
    async untilRead(lines) {
      const before = await metric('lines_total');
      while ((await metric('lines_total')) < before + lines) await delay(500);
    },
  };
}

/**
 * kube-iptables-tailer reads its credentials from where a Pod has them, so it gets a mount namespace in which they are
 * there.
 */
export async function startPeer(
  program: string,
  log: string,
  { account, server }: { account: string; server: URL },
): Promise<Reader> {
  const place = '/var/run/secrets/kubernetes.io/serviceaccount';
  const script = `mount -t tmpfs tmpfs /run && mkdir -p ${place} && cp "$1"/* ${place}/ && exec "$2"`;
  const env = {
    PATH: process.env['PATH'],
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
    IPTABLES_LOG_PATH: log,
    IPTABLES_LOG_PREFIX: 'calico-drop:',
    WATCH_LOGS_INTERVAL_SECONDS: '1',
    METRICS_SERVER_PORT: '0',
  };
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', account, program], { env, stdio: 'ignore' });
  const reader = processReader(child);
  await untilIdle(reader);
  return { ...reader, untilRead: () => untilIdle(reader) };
}

/** The peer does not count lines. It is done when it has worked, and then been idle for three seconds. */
async function untilIdle({ cpuSeconds }: Pick<Reader, 'cpuSeconds'>): Promise<void> {
  const start = cpuSeconds();
  let latest = start;
  let since = performance.now();
  while (latest - start < 0.1 || performance.now() - since < 3000) {
    await delay(100);
    const now = cpuSeconds();
    if (now - latest < 0.02) continue;
    latest = now;
    since = performance.now();
  }
}

function processReader(child: ChildProcess): Omit<Reader, 'untilRead'> {
  const pid = child.pid ?? 0;
  return {
    cpuSeconds: () => usedBy(pid).cpuSeconds,
    peakMegabytes: () => Math.round(usedBy(pid).peakBytes / 1e6),
    async stop() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}
