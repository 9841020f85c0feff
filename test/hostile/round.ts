import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { ControlPlane } from '../e2e/control-plane/control-plane.ts';
import type { AttackerAnswer, AttackerOrder } from './attacker.ts';
import { attackNamed } from './attacks/attacks.ts';
import type { Accounts } from './cluster.ts';
import { createDelays, type Delays } from './delays.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { type AuditRows, readAuditRows } from './honest-audit.ts';
import { createHonestTenant, honestAddresses, honestPods, honestPorts } from './honest-tenant.ts';
import { type AgentResult, startLimitedAgent } from './limited-agent.ts';
import { honestNamespaces, nodeName, otherNodeName } from './names.ts';
import type { TenantFigures } from './tenant.ts';

export interface RoundOptions {
  readonly plane: ControlPlane;
  readonly accounts: Accounts;
  /** The round makes its own folder in this one, and removes it. */
  readonly folder: string;
  /** The names of attacks that are played at the same time; none for a round without an attacker. */
  readonly attacks: readonly string[];
  readonly seed: number;
  /** How long the attacker may prepare each attack. */
  readonly preparation: Millis;
  /** How long the round lasts in addition to the honest tenant's losses. */
  readonly duration: Millis;
  /** Whether everything awaited has come. Without it, the round waits for everything that may come. */
  readonly isComplete: (log: EventLog, audit: AuditRows) => boolean;
  /** Whether the agent writes flow records, which are then also compared. */
  readonly hasAudit: boolean;
}

export interface Round {
  readonly attacks: readonly string[];
  readonly events: EventLog;
  readonly hasAudit: boolean;
  readonly audit: AuditRows;
  readonly delays: Delays;
  readonly agent: AgentResult;
  readonly tenant: TenantFigures;
  /** Other problems: the agent was not ready, or an attack could not be played. */
  readonly problems: readonly string[];
}

/** The time between two looks at the Events. */
const lookEvery: Millis = 200;
/**
 * As long as the budget may need for seven further Events of a Namespace during two attacks of ninety Pods each
 * (judge.ts), which is longer than the half minute until the second write of an Event.
 */
const settling: Millis = 100_000;
/** The time between two kills of the agent, in attacks that have them. */
const killEvery: Millis = 3000;

/** Plays one agent from its start to its end, with an honest tenant and an attacker. Leaves no object of either. */
export async function playRound(options: RoundOptions): Promise<Round> {
  const { plane, accounts, attacks } = options;
  const folder = mkdtempSync(join(options.folder, 'round-'));
  const honest = createHonestTenant(plane);
  const problems: string[] = [];
  const attacker = await startAttacker(options, folder);
  await honest.begin();
  if (attacks.length > 0) await attacker.prepare();
  const agent = await startLimitedAgent({
    node: nodeName,
    kubeconfig: accounts.agent,
    folder,
    hasAudit: options.hasAudit,
  });
  try {
    await agent.untilReady().catch((error: Error) => problems.push(`agent: ${error.message}`));
    const delays = createDelays(plane, accounts.honest, agent.waited);
    const events = createEventLog(honest.look);
    attacker.play(agent.listeners());
    await delay(500);
    const isOver = new AbortController();
    const pause = (duration: Millis): Promise<void> =>
      delay(duration, undefined, { signal: isOver.signal }).catch(() => {});
    const watching = Promise.all([
      repeat(lookEvery, isOver.signal, events.look),
      repeat(2 * lookEvery, isOver.signal, delays.look),
      attacks.some((name) => attackNamed(name).killsAgent === true) && killTwice(agent.restart, pause),
    ]);
    await Promise.all([honest.lose(agent, pause), delay(options.duration)]);
    const rows = (): AuditRows => readAuditRows(agent.audit, honestPorts);
    for (const end = performance.now() + settling; performance.now() < end && !options.isComplete(events, rows());)
      await delay(lookEvery);
    isOver.abort();
    await watching;
    const [result, audit] = [await agent.stop(), rows()];
    const ended = await attacker.end();
    problems.push(...ended.problems);
    return {
      attacks,
      events,
      hasAudit: options.hasAudit,
      audit,
      delays,
      agent: result,
      tenant: ended.figures,
      problems,
    };
  } finally {
    await agent.stop();
    await attacker.end();
    await honest.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

interface Attacker {
  readonly prepare: () => Promise<void>;
  readonly play: (listeners: { metrics: string; health: string }) => void;
  /** Ends the attacker after it has removed what it made. A second call does nothing. */
  readonly end: () => Promise<Extract<AttackerAnswer, { kind: 'ended' }>>;
}

async function startAttacker(options: RoundOptions, folder: string): Promise<Attacker> {
  const { plane, accounts, attacks, seed, preparation } = options;
  const child = fork(join(import.meta.dirname, 'attacker.ts'), { stdio: 'inherit' });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`[hostile] the attacker ended with ${signal ?? `code ${code}`}`);
  });
  // The failure counts where an answer is awaited.
  ended.catch(() => {});
  const ask = async (order: AttackerOrder): Promise<AttackerAnswer> => {
    child.send(order);
    const [answer] = (await Promise.race([once(child, 'message'), ended])) as [AttackerAnswer];
    return answer;
  };
  let ending: Promise<AttackerAnswer> | undefined;
  const targets = {
    node: nodeName,
    otherNode: otherNodeName,
    addresses: honestAddresses,
    honestNamespaces,
    honestPods,
  };
  const place = { log: join(folder, 'kern.log'), podLogs: join(folder, 'pods') };
  return {
    async prepare() {
      const { address } = plane;
      const token = accounts.attacker;
      await ask({ kind: 'prepare', address, attacks, token, seed, targets, preparation, ...place });
    },
    play: (listeners) => void child.send({ kind: 'play', listeners } satisfies AttackerOrder),
    async end() {
      ending ??= attacks.length === 0 ? Promise.resolve(nothing) : ask({ kind: 'end' }).catch(failure);
      const answer = await ending;
      child.kill('SIGKILL');
      return answer as Extract<AttackerAnswer, { kind: 'ended' }>;
    },
  };
}

const nothing: AttackerAnswer = {
  kind: 'ended',
  figures: { objects: 0, bytes: 0, pods: 0, refusals: {} },
  problems: [],
};

function failure(error: unknown): AttackerAnswer {
  return { ...nothing, problems: [String(error)] } as AttackerAnswer;
}

/** Kills it while the honest tenant loses packets; afterwards it has the time that it needs. */
async function killTwice(restart: () => Promise<void>, pause: (duration: Millis) => Promise<void>): Promise<void> {
  for (let kill = 0; kill < 2; kill++) {
    await pause(killEvery);
    await restart();
  }
}

async function repeat(every: Millis, signal: AbortSignal, one: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await one();
    await delay(every, undefined, { signal }).catch(() => {});
  }
}
