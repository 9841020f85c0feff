import { join } from 'node:path';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { type CoreEvent, eventOf } from '../../../src/publish/events/event.ts';
import { ifMissing } from '../../../src/publish/state/segments.ts';
import { type AgentState, findState } from '../../../src/publish/state/state.ts';
import type { AgentProcess } from '../../e2e/agent-process.ts';
import type { AgentRig } from '../../e2e/agent-rig.ts';
import { valueIn } from '../../e2e/scraped.ts';
import { usedBy } from '../../bench/used.ts';
import type { Lengths, Run } from './phases.ts';

export interface SoakedAgent {
  readonly node: string;
  readonly process: AgentProcess;
  /** The Events of all counts that the agent has on disk, published or not. */
  readonly kept: () => CoreEvent[];
  /** True while the process is killed and its successor does not run yet: requests then fail. */
  readonly isRestarting: boolean;
  /** Kills it, and starts another one with its state. */
  readonly restart: () => Promise<void>;
}

/** An agent whose heap can be inspected. */
export function startSoaked(rig: AgentRig, node: string, env: Readonly<Record<string, string>>): SoakedAgent {
  const state = rig.newFolder();
  const probe = join(import.meta.dirname, 'heap-probe.ts');
  const start = (): AgentProcess =>
    rig.start({ NODE_NAME: node, STATE_DIR: state, POD_CACHE: 'cluster', NODE_OPTIONS: `--import=${probe}`, ...env });
  let current = start();
  let isRestarting = false;
  return {
    node,
    get process() {
      return current;
    },
    kept: () => keptIn(state),
    get isRestarting() {
      return isRestarting;
    },
    async restart() {
      isRestarting = true;
      await current.kill();
      current = start();
      isRestarting = false;
    },
  };
}

function keptIn(folder: string): CoreEvent[] {
  try {
    const { series, past } = (findState(folder)?.state as AgentState | undefined)?.series ?? { series: [], past: [] };
    return [...past, ...series].map((each) => eventOf(each, '', Date.now()));
  } catch (error) {
    // The agent has just deleted a file, and its successor is read the next time.
    return ifMissing(error) ?? [];
  }
}

/** Kills it again and again, at any moment, even while it starts. Returns how often. */
export async function killAgain(
  agent: SoakedAgent,
  { kill: [soonest, latest] }: Lengths,
  run: Run,
  random: () => number,
): Promise<number> {
  for (let kills = 0; ; kills++) {
    await run.wait(soonest + random() * (latest - soonest));
    if (run.isOver) return kills;
    await agent.restart();
  }
}

/** One measurement: seconds since the beginning, and bytes. */
type Sample = readonly [seconds: number, bytes: number];

export interface Memory {
  /** Resident memory before the garbage collection. */
  readonly rss: Sample[];
  /** The heap after each garbage collection. */
  readonly heap: Sample[];
}

/** Watches until the end of the run. */
export async function watchMemory({ process: agent }: SoakedAgent, every: number, run: Run): Promise<Memory> {
  const memory: Memory = { rss: [], heap: [] };
  const began = performance.now();
  for (;;) {
    await run.wait(every);
    if (run.isOver) return memory;
    const seconds = (performance.now() - began) / 1000;
    memory.rss.push([seconds, usedBy(agent.pid ?? 0).residentBytes]);
    const known = agent.log.length;
    agent.signal('SIGUSR2');
    const answer = await agent.untilLog((entry) => 'heapAfterCollection' in entry && agent.log.indexOf(entry) >= known);
    memory.heap.push([seconds, Number(answer['heapAfterCollection'])]);
  }
}

/**
 * Resolves when its watch of Pods has heard from the API server since then (Unix ms), or at the end of the run. After
 * an outage this takes a back-off of up to a minute. Until then, the address of a new Pod has no owner or its earlier
 * one.
 */
export async function untilHeard(agent: SoakedAgent, since: Millis, run: Run): Promise<void> {
  while (!run.isOver) {
    const { process } = agent;
    const { body } = await process.get('/metrics').catch((error: unknown) => {
      // A process that was killed in the meantime has a successor, which is asked next.
      if (agent.process === process && !agent.isRestarting) throw error;
      return { body: '' };
    });
    if (valueIn(body, 'watch_last_heard_timestamp_seconds', 'resource="pods"') * 1000 > since) return;
    await run.wait(500);
  }
}

/** The sum of a counter over its labels. */
export async function counterOf(agent: AgentProcess, name: string): Promise<number> {
  return valueIn((await agent.get('/metrics')).body, name);
}

/** The share of time at the beginning that is left out, because an agent that has just started fills its tables. */
const warmUp = 0.25;

/** Bytes per hour, by least squares over all samples after the warm-up; NaN for fewer than three samples. */
export function slopeOf(samples: readonly Sample[]): number {
  const end = samples.at(-1)?.[0] ?? 0;
  const warm = samples.filter(([seconds]) => seconds >= end * warmUp);
  if (warm.length < 3) return NaN;
  const mean = (index: 0 | 1): number => warm.reduce((sum, sample) => sum + sample[index], 0) / warm.length;
  const [meanTime, meanBytes] = [mean(0), mean(1)];
  let covariance = 0;
  let variance = 0;
  for (const [seconds, bytes] of warm) {
    covariance += (seconds - meanTime) * (bytes - meanBytes);
    variance += (seconds - meanTime) ** 2;
  }
  return (covariance / variance) * 3600;
}
