/**
 * Holds connections of Pods that failed without an answer. Only a few of them fail because of a policy, so one counts as a drop only if the
 * known policies deny it at either end, and no other line reports it. The others are only counted.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { ConnectFailure } from '../../base/model/observation.ts';
import type { PolicyAnswer } from '../../base/model/policy-answer.ts';
import { createTimer, schedule as systemSchedule } from '../../base/platform/timer.ts';
import type { Decision } from './decision.ts';
import { createHeldFlows, type HeldFlow } from './held-flows.ts';
import { createJudging, type FlowResult, type JudgingOptions } from './judging.ts';
import type { Lookups, QueuedFlow } from './lookup-queue.ts';
import { createPodShare } from './pod-share.ts';
import type { FailureResult } from './statistics.ts';
import { createReportedConnections } from './reported-connections.ts';

/** Without `lookups`, each connection is judged at once. */
export interface FailuresOptions extends JudgingOptions {
  /** Whether failed connections may be reported. If false, other lines are noted only from the first one on. */
  hasKernelDrops?: boolean | undefined;
  /** Counts connections that policies deny. `answer`: their verdict. */
  denied: (flow: QueuedFlow, answer: PolicyAnswer) => void;
  count: (result: FailureResult, connections: number) => void;
}

export interface Failures {
  take: (line: LogLine, failure: ConnectFailure) => void;
  /** Notes that this line reports a packet, so that its connection does not count again. */
  note: (decision: Decision | undefined, time: Millis) => void;
  stop: () => void;
}

/** Other lines of the same packets come meanwhile, and owners of addresses are looked up. */
const holdFor: Millis = 3000;
/** Two minutes, because policies and owners come late after a start, and the time for verdicts may be used up. */
const mostTries = 40;

/** How long it works before other work has its turn. */
const longestTurn: Millis = 5;

export function createFailures(options: FailuresOptions): Failures {
  const { judge, lookups, count } = options;
  const held = createHeldFlows(({ weight }) => count('overflowed', weight));
  const told = createReportedConnections();
  let isNoting = options.hasKernelDrops !== false;
  const judging = createJudging(options, told);
  const timer = lookups && createTimer(lookups.schedule ?? systemSchedule, lookups.now, () => judgeDue(lookups));
  const { mayWork, inShare, worked } = createPodShare(lookups);
  const judgedPods = new Set<string>();
  const inTurn = createTurns(worked);
  let isStopped = false;

  return {
    take(line, failure) {
      isNoting = true;
      const flow = flowOf(line, failure, lookups?.now() ?? line.time);
      if (lookups === undefined) return settle(flow, judgedNow(flow));
      if (!held.take(flow)) return count('overflowed', 1);
      timer?.setEarliest(holdFor);
    },
    note(decision, at) {
      if (isNoting) told.note(decision, at);
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };

  /** Pods do not wait for each other, because a Namespace may have policies that take seconds to list. */
  function judgeDue(known: Lookups): void {
    for (const pod of held.pods) if (!judgedPods.has(pod)) void judgePod(pod, known);
    if (held.size > 0 && !isStopped) timer?.setEarliest(holdFor / 4);
  }

  async function judgePod(pod: string, { now, isSynced }: Lookups): Promise<void> {
    judgedPods.add(pod);
    const latest = now() - holdFor;
    await inTurn();
    for (let flow = next(); flow !== undefined; flow = next()) {
      const result = mayWork(flow) ? await judged(flow) : 'unread';
      if (!isStopped) settle(flow, result);
      await inTurn();
    }
    judgedPods.delete(pod);

    function next(): HeldFlow | undefined {
      // Before the cluster is listed, no address has an owner.
      return isStopped || !isSynced() ? undefined : held.takeOldestOf(pod, latest);
    }
  }

  async function judged(flow: HeldFlow): Promise<FlowResult> {
    const steps = judging(flow);
    let step = inShare(flow, () => steps.next());
    while (step.done !== true) {
      await judge.prepare?.(step.value, flow.last);
      await inTurn();
      step = inShare(flow, () => steps.next());
    }
    return step.value;
  }

  function judgedNow(flow: HeldFlow): FlowResult {
    const steps = judging(flow);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  }

  function settle(flow: HeldFlow, result: FlowResult): void {
    if (result === 'unread' && lookups !== undefined && ++flow.tries < mostTries) {
      flow.since = lookups.now();
      if (!held.take(flow)) count('overflowed', flow.weight);
      timer?.setEarliest(holdFor);
      return;
    }
    if (typeof result === 'string') return count(result === 'unread' ? 'unproven' : result, flow.weight);
    const { line, weight, first, last, since } = flow;
    options.denied({ line, observation: result.observation, weight, first, last, since }, result.answer);
    count('denied', weight);
  }
}

/** Resolves when there is time left in a turn of the event loop. Those who wait are served in order, so nobody has a second turn before them. */
function createTurns(worked: () => Millis): () => Promise<void> {
  let began = worked();
  let next: Promise<void> | undefined;
  return async () => {
    // Others that are ready go first.
    await Promise.resolve();
    while (worked() - began >= longestTurn) await (next ??= begin());
  };

  async function begin(): Promise<void> {
    await nextTurn();
    next = undefined;
    began = worked();
  }
}

function flowOf(line: LogLine, { connection, pod }: ConnectFailure, since: Millis): HeldFlow {
  const { time } = line;
  const sourcePorts = new Set([connection.packet.sourcePort]);
  const kept = { ...line, text: '' };
  return { line: kept, observation: connection, pod, sourcePorts, tries: 0, weight: 1, first: time, last: time, since };
}
