/**
 * Takes lines and counts their packets and failures. The way of a line, each step one call that returns its result:
 *
 * 1. a source reads it and takes its envelope off (sources/): `Pipeline.take`
 * 2. `decide` says what it is (`observe`, parsing/formats.ts) and how it is counted (decision.ts)
 * 3. a packet that was lost gets its meaning (meaning.ts): the ends (resolving/), noise and findings (drops/)
 * 4. a packet whose owner is looked up waits in a queue (lookup-queue.ts); `review` takes out what has waited
 * 5. each finding is counted in its series (series/); a program's record goes to the incidents of its node (incidents/)
 *
 * Counts are published later, by a clock of its own (events/). Lines that repeat an earlier decision skip steps 2 and 3
 * (repeated-decisions.ts).
 */
import type { NodeIncidents } from '../../explain/incidents/incidents.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { Suppressed } from '../../base/model/observation.ts';
import type { PolicyAnswer } from '../../base/model/policy-answer.ts';
import { createTimer, schedule as systemSchedule } from '../../base/platform/timer.ts';
import type { SeriesTable } from '../series/series.ts';
import type { LineOrigin, Repeats } from '../../read/sources/sources.ts';
import {
  createDecisions,
  type Decision,
  type DecisionOptions,
  type Decisions,
  type DecisionSettings,
  type LostPacket,
  packetWeight,
} from './decision.ts';
import { createFailures, type Failures } from './failures.ts';
import type { ConnectionJudge } from './judging.ts';
import { createWaiting, type Lookups, type QueuedFlow, reviewInterval, type PacketWait } from './lookup-queue.ts';
import type { Drop, FlowMeaning } from './meaning.ts';
import { createRepeatedDecisions, type LineGroup } from './repeated-decisions.ts';
import type { FailureResult, Statistics } from './statistics.ts';
import { createFlowTwins } from './twins.ts';

export { createDecisions, type Decision, type Decisions, observe } from './decision.ts';
export { createLookupQueue, type LookupQueue, type QueuedFlow } from './lookup-queue.ts';
export type { ConnectionJudge } from './judging.ts';
export type { Drop, FlowMeaning } from './meaning.ts';
export { textOfSeries } from './message.ts';
export { createStatistics, failureResults, type Statistics } from './statistics.ts';

export interface PipelineOptions extends DecisionOptions {
  statistics: Statistics;
  /** Whether Calico's flows are a source, so that packets of LOG lines are remembered from the start; by default from the first flow on. */
  hasFlows?: boolean;
  counts: (node: string) => NodeCounts;
  /** In `replay` the times of lines decide what is due, so equal lines are joined only while times rise. */
  isByLines?: boolean;
  /** If undefined, every packet is counted at once, with the owners that are known. */
  lookups?: Lookups | undefined;
  /** If undefined, no connection is known to be denied. */
  judge?: ConnectionJudge | undefined;
  packets?: PacketSink | undefined;
  /** Takes lines of no known format. */
  passedOver?: ((line: LogLine) => void) | undefined;
}

export interface NodeCounts {
  readonly table: Pick<SeriesTable, 'count' | 'countAmongOthers' | 'suppress'>;
  readonly incidents: NodeIncidents;
  /** Makes the writes that are due by `time`, the time of the next line. Undefined if a publisher with its own clock writes. */
  readonly advance?: (time: Millis) => void;
  /** Returns the time until which `advance` has nothing to do. */
  readonly quietUntil?: () => Millis;
}

/** Takes single packets for everything besides Events: the audit, metrics by owner, rows of `replay`. */
export interface PacketSink {
  drop: (drop: Drop) => void;
  /** Takes a packet that was accepted, or whose verdict is not known. Undefined if such packets are not needed. */
  logged?: ((drop: Drop) => void) | undefined;
  /** Notes that records of the node's log are missing. */
  gap?: (suppressed: Suppressed, time: Millis) => void;
  /** Whether each line must be shown by itself, with the fields that vary within a flow. */
  readonly everyLine?: boolean;
}

/** Turns lines into counts, without I/O and without waiting. */
export interface Pipeline {
  take: (line: LogLine, origin: LineOrigin) => void;
  /** Undefined if each line is shown by itself. */
  repeats?: Repeats | undefined;
  /** Counts waiting packets whose owners are known now. Call it when look-ups have answers. While packets wait, a timer also calls it. */
  review: () => void;
  /** Ends the reviews. Packets that wait stay in the queue. */
  stop: () => void;
  /** Notes that lines were lost before they could be read, so counts near that time are lower bounds. */
  lost: (by: string, count: number | undefined, time: Millis, since?: Millis, of?: 'connections') => void;
  change: (settings: DecisionSettings) => void;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { statistics, counts, lookups } = options;
  const decisions = createDecisions(options);
  const waiting = lookups && createWaiting(lookups, options.endpoints);
  const counting = createCounting(options, decisions, waiting);
  const repeated = createRepeatedDecisions({
    epochAt: decisions.epochAt,
    quietUntil: options.isByLines ? (node) => counts(node).quietUntil?.() ?? Infinity : undefined,
  });
  const timer = lookups && createTimer(lookups.schedule ?? systemSchedule, lookups.now, countDone);
  const failures = createFailuresOf(options, decisions, (flow, answer) => {
    flush();
    statistics.observed(flow.line, flow.observation, flow.weight);
    counting.countQueued(flow, withAnswer(decisions.lost(flow.line, flow.observation), answer));
  });
  let isStopped = false;
  const repeats: Repeats = {
    last: repeated.last,
    again(repeat, time) {
      if (repeated.isOver(time)) flush();
      return repeated.again(repeat, time);
    },
    flush,
  };

  return {
    take(line, origin) {
      flush();
      const decision = decisions.decide(line, origin);
      repeated.decided(line, decision);
      failures.note(decision, line.time);
      if (decision === undefined) options.passedOver?.(line);
      if (decision === undefined || decision.kind === 'part') return;
      if (decision.kind === 'failure') return failures.take(line, decision.observation);
      if (decision.kind !== 'refused' && decision.kind !== 'twin') statistics.observed(line, decision.observation);
      count(decision, { line, lines: 1, last: undefined });
    },
    repeats: options.packets?.everyLine === true ? undefined : repeats,
    review,
    stop() {
      isStopped = true;
      timer?.cancel();
      failures.stop();
    },
    lost(by, amount, time, since, of) {
      flush();
      statistics.suppressed += amount ?? 1;
      const suppressed = { kind: 'suppressed', by, count: amount, affects: of ?? 'everything', since } as const;
      counting.suppress(suppressed, options.node ?? '', time);
    },
    change(settings) {
      flush();
      repeated.forget();
      decisions.change(settings);
    },
  };

  function flush(): void {
    for (const each of repeated.take()) {
      statistics.observed(each.line, each.decision.observation, each.lines);
      count(each.decision, each);
      each.lines = 0;
    }
  }

  function count(decision: Decision, alike: LineGroup): void {
    if (counting.carryOut(decision, alike)) timer?.setEarliest(reviewInterval);
  }

  function review(): void {
    waiting?.answered();
    countDone();
  }

  function countDone(): void {
    timer?.cancel();
    if (isStopped || lookups === undefined || waiting === undefined) return;
    const { done, isAll } = waiting.takeDone();
    flush();
    for (const flow of done) counting.resume(flow);
    if (lookups.queue.size > 0) timer?.setEarliest(isAll ? reviewInterval : 0);
  }
}

/** Connections that failed are held, and without a judge all of them are unproven. */
function createFailuresOf(
  { judge, lookups, hasKernelDrops, statistics: { failures } }: PipelineOptions,
  decisions: Decisions,
  denied: (flow: QueuedFlow, answer: PolicyAnswer) => void,
): Failures {
  const count = (result: FailureResult, connections: number): void => void (failures[result] += connections);
  if (judge !== undefined) return createFailures({ judge, decisions, lookups, hasKernelDrops, denied, count });
  return { take: () => count('unproven', 1), note() {}, stop() {} };
}

function createCounting(options: PipelineOptions, decisions: Decisions, waiting: PacketWait | undefined) {
  const { statistics, packets: sink, counts, hasFlows } = options;
  const twins = createFlowTwins(hasFlows);
  return { carryOut, suppress, resume, countQueued };

  /** Returns true if the packets wait for a look-up instead. */
  function carryOut(decision: Decision, alike: LineGroup): boolean {
    const { line, lines } = alike;
    switch (decision.kind) {
      case 'drop':
        return takeDrop(alike, decision);
      case 'incident':
        if (decision.node === '') statistics.nodeUnknown++;
        else nodeAt(decision.node, line.time).incidents.take(decision.observation, line);
        return false;
      case 'gap':
        suppress(decision.observation, decision.node, line.time);
        return false;
      case 'refused':
        statistics.notKernel++;
        return false;
      case 'no-drop': {
        const { observation } = decision;
        const weight = packetWeight(observation) * lines;
        sink?.logged?.({ line, observation, meaning: decisions.meaningOf(line, observation), weight });
        return false;
      }
      default:
        return false;
    }
  }

  function takeDrop(alike: LineGroup, lost: LostPacket): boolean {
    const { line, lines, last } = alike;
    const { observation, meaning } = lost;
    if (meaning.noise === undefined) {
      if (observation.kind === 'packet' && observation.enforcer === 'host-firewall')
        noteFirewall(counts(meaning.node), alike);
      if (waiting?.hold(alike, observation, meaning.ends, resume) === true) return true;
    }
    const packets = twins.uncounted(lost, packetWeight(observation) * lines, line.time);
    if (packets === 0) return false;
    show(line, lost, packets, lines);
    if (!lost.isIgnored) count(meaning, line.time, packets, last);
    return false;
  }

  function resume(flow: QueuedFlow): void {
    countQueued(flow, decisions.lost(flow.line, flow.observation));
  }

  function countQueued({ line, weight, first, last }: QueuedFlow, lost: LostPacket): void {
    const packets = twins.uncounted(lost, weight, line.time);
    if (packets === 0) return;
    show(line, lost, packets, 1);
    if (lost.isIgnored) return;
    count(lost.meaning, first, 1);
    if (packets > 1) count(lost.meaning, last, packets - 1);
  }

  function show(line: LogLine, { observation, meaning }: LostPacket, weight: number, lines: number): void {
    sink?.drop({ line, observation, meaning, weight });
    statistics.resolved(meaning.ends, meaning.noise !== undefined, weight, lines);
  }

  function count(meaning: FlowMeaning, time: Millis, weight: number, last?: Millis): void {
    const { table } = nodeAt(meaning.node, time);
    twins.note(meaning, weight, time);
    // Findings of packets that came before are there already.
    const sides = last === undefined ? meaning.sides : undefined;
    if (sides === undefined) for (const finding of meaning.findings) table.count(finding, time, weight, last);
    else
      for (const [index, side] of sides.entries())
        if (!table.countAmongOthers(side, time, weight))
          table.count(meaning.findings[index] as Finding, time, weight, last);
  }

  function suppress(suppressed: Suppressed, node: string, time: Millis): void {
    sink?.gap?.(suppressed, time);
    nodeAt(node, time).table.suppress(suppressed, node, time);
  }

  function nodeAt(node: string, time: Millis): NodeCounts {
    const of = counts(node);
    of.advance?.(time);
    return of;
  }
}

/** The answer goes with the findings, as a second evaluation may come to another one, or to none. */
function withAnswer({ meaning, ...lost }: LostPacket, answer: PolicyAnswer): LostPacket {
  const { node, ends, noise } = meaning;
  const findings = meaning.findings.map((finding) => {
    const { details } = finding;
    return details.kind === 'flow' ? { ...finding, details: { ...details, answer } } : finding;
  });
  return { ...lost, meaning: { node, ends, noise, findings, sides: undefined } };
}

function noteFirewall({ incidents }: NodeCounts, { line, lines, last }: LineGroup): void {
  incidents.firewallDropped(line.time);
  if (lines > 1) incidents.firewallDropped(last ?? line.time, lines - 1);
}
