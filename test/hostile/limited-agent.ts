import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../src/base/model/log-line.ts';
import { createCgroup } from '../bench/memory/cgroup.ts';
import { usedBy } from '../bench/used.ts';
import { imageCommand } from '../deploy/image-command.ts';
import { type AgentProcess, startAgent } from '../e2e/agent-process.ts';
import { bundle, bundleNode } from '../e2e/bundle.ts';
import type { Answer, ProbeOrder } from './health-probe.ts';
import { auditSettings } from './honest-audit.ts';
import { takePrecedence } from './precedence.ts';
import { threadTimesOf } from './run-queue.ts';

/** The limit of deploy/base/daemonset.yaml. */
const limit = 192 * 2 ** 20;
/** The kubelet's first pause before it restarts a container is longer. A shorter one shows more ends in less time. */
const restartAfter: Millis = 500;

const image = imageCommand();
/**
 * `$1`: the file that puts a process into the group. The shell executes the program, so the process id stays the same.
 */
const enter = `echo $$ > "$1"; shift; ${takePrecedence}; exec "$@"`;

export interface AgentOptions {
  readonly node: string;
  readonly kubeconfig: string;
  /** A new folder for state, log and container logs. */
  readonly folder: string;
  /** Whether it writes flow records. */
  readonly hasAudit: boolean;
}

export interface AgentResult {
  /** How it ended by itself, each time. */
  readonly ends: readonly string[];
  readonly oomKills: number;
  /** The peak memory of its processes. */
  readonly peakBytes: number;
  readonly answers: readonly Answer[];
  readonly cpuSeconds: number;
  /** Its warnings and errors, each text once. */
  readonly warnings: readonly string[];
  /** The metrics of the last agent, at the end. */
  readonly metrics: string;
}

/**
 * The bundle as the image runs it, in a cgroup with the container's limit. An agent that has ended is started again.
 */
export interface LimitedAgent {
  readonly log: string;
  readonly podLogs: string;
  /** The file of its flow records. */
  readonly audit: string;
  readonly listeners: () => { metrics: string; health: string };
  /** For how long it has been ready to run without a processor so far. */
  readonly waited: () => Millis;
  /** Rejects after a minute. */
  readonly untilReady: () => Promise<void>;
  /** Kills it, and starts another agent with its state. */
  readonly restart: () => Promise<void>;
  /** Ends it; resolves to its outcome. Must be called however the round ends; a second call waits for the same end. */
  readonly stop: () => Promise<AgentResult>;
}

export async function startLimitedAgent({ node, kubeconfig, folder, hasAudit }: AgentOptions): Promise<LimitedAgent> {
  const [log, podLogs, state, audit] = ['kern.log', 'pods', 'state', 'audit.ndjson'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  for (const each of [podLogs, state]) mkdirSync(each, { recursive: true });
  writeFileSync(log, '');
  const group = createLimitedGroup();
  const env = {
    PATH: process.env['PATH'] ?? '',
    KUBECONFIG: kubeconfig,
    NODE_NAME: node,
    SOURCES: `file:${log},containers`,
    POD_LOGS: podLogs,
    STATE_DIR: state,
    METRICS_ADDRESS: '127.0.0.1:0',
    HEALTH_ADDRESS: '127.0.0.1:0',
    REVERSE_DNS: 'false',
    ...(hasAudit && auditSettings(audit)),
    ...image.allocator,
  };
  const probe = fork(join(import.meta.dirname, 'health-probe.ts'), { stdio: 'inherit', detached: true });
  const order = (given: ProbeOrder): void => void (probe.connected && probe.send(given));
  const ends: string[] = [];
  const agents: AgentProcess[] = [];
  let [peakBytes, cpuBefore, cpu, waitedBefore, waited] = [0, 0, 0, 0, 0];
  let isStopping = false;
  let stopping: Promise<AgentResult> | undefined;
  let current: AgentProcess;
  let listeners = { metrics: '', health: '' };

  const begin = (): AgentProcess => {
    const command = ['setsid', 'sh', '-c', enter, 'sh', group.processes, bundleNode, ...image.flags, bundle];
    const agent = startAgent(command, env);
    agents.push(agent);
    // Set before it has threads, which inherit it.
    if (agent.pid !== undefined) setPriority(agent.pid, -10);
    [cpuBefore, waitedBefore] = [cpu, waited];
    void listen(agent);
    void guard(agent);
    return agent;
  };
  const listen = async (agent: AgentProcess): Promise<void> => {
    const entry = await agent.untilLog((each) => typeof each['healthAddress'] === 'string').catch(() => undefined);
    if (entry === undefined || agent !== current) return;
    listeners = { metrics: String(entry['metricsAddress']), health: String(entry['healthAddress']) };
    order({ address: listeners.health, pid: agent.pid ?? 0 });
  };
  const guard = async (agent: AgentProcess): Promise<void> => {
    const { code, signal } = await agent.untilExit(24 * 3_600_000);
    if (agent !== current || isStopping) return;
    order('pause');
    ends.push(`${signal ?? `code ${code}`}${lastWords(agent)}`);
    await delay(restartAfter);
    if (!isStopping) current = begin();
  };
  const measure = (): void => {
    try {
      const used = usedBy(current.pid ?? 0);
      peakBytes = Math.max(peakBytes, used.peakBytes);
      cpu = cpuBefore + used.cpuSeconds;
      waited = waitedBefore + (threadTimesOf(current.pid ?? 0)?.firstWaited ?? 0);
    } catch {
      // The process has ended, which is noticed elsewhere; the last measurement counts.
    }
  };
  current = begin();
  const timer = setInterval(measure, 50);
  const stop = async (): Promise<AgentResult> => {
    isStopping = true;
    measure();
    clearInterval(timer);
    const answer = once(probe, 'message').catch(() => [[]]);
    order('end');
    const [answers] = (await Promise.race([answer, once(probe, 'exit').then(() => [[]])])) as [Answer[]];
    const metrics = await Promise.race([metricsOf(listeners.metrics), delay(5000, '')]);
    await current.kill();
    const { oomKills } = group.read();
    await group.remove();
    return { ends, oomKills, peakBytes, answers, cpuSeconds: cpu, metrics, warnings: warningsOf(agents) };
  };

  return {
    log,
    podLogs,
    audit,
    listeners: () => listeners,
    waited: () => (measure(), waited),
    untilReady: () => untilReady(() => listeners.health),
    async restart() {
      order('pause');
      const before = current;
      current = begin();
      await before.kill();
    },
    stop: () => (stopping ??= stop()),
  };
}

function createLimitedGroup(): ReturnType<typeof createCgroup> {
  try {
    return createCgroup(limit);
  } catch (cause) {
    const wanted = 'root, and a memory controller of cgroups, version 1 or 2, below /sys/fs/cgroup';
    throw new Error(`[hostile] the agent cannot be limited to 192 MiB of memory, which takes ${wanted}`, { cause });
  }
}

function lastWords({ errors, log }: AgentProcess): string {
  const words = errors.split('\n').find((line) => line.includes('FATAL ERROR')) ?? textOf(log.at(-1)?.['msg']);
  return words === '' ? '' : `: ${words.slice(0, 120)}`;
}

function warningsOf(agents: readonly AgentProcess[]): readonly string[] {
  const entries = agents.flatMap(({ log }) => log).filter(({ level }) => level === 'warn' || level === 'error');
  return [...new Set(entries.map(({ msg, problem }) => [textOf(problem), textOf(msg)].join(': ').slice(0, 200)))];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

async function untilReady(address: () => string): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await delay(100)) {
    const answer = await fetch(`http://${address()}/readyz`, { signal: AbortSignal.timeout(10_000) }).catch(() => {});
    if (answer?.ok === true) return;
  }
  throw new Error('it is not ready after a minute');
}

async function metricsOf(address: string): Promise<string> {
  const answer = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(5000) }).catch(() => {});
  return (await answer?.text()) ?? '';
}
