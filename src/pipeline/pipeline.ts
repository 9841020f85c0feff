/**
 * Takes lines and counts what they say. The way of a line, each step one call:
 *
 * 1. a source reads it and takes its envelope off (sources/): `Pipeline.take`
 * 2. `decide` says what it is (`observe`, parsing/formats.ts) and what becomes of it (decision.ts)
 * 3. a packet that was lost gets its meaning (flow-cache.ts): the ends (resolving/), noise and findings (drops/)
 * 4. where an owner is still looked up, `hold` keeps it until `resume` (lookup-queue.ts)
 * 5. `report` counts each finding in its series (series/); a program's record goes to the incidents of its node (incidents/)
 *
 * Counts are published later, by a clock of its own (events/). Lines that repeat the last decision skip the second and the third step
 * (repeated-decisions.ts).
 */
import { dropMessage, type PolicyVerdict } from '../drops/drops.ts';
import { incidentMessage, type NodeIncidents } from '../incidents/incidents.ts';
import type { Ends } from '../model/endpoint.ts';
import type { IncidentDetails } from '../model/incident.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian, Suppressed } from '../model/observation.ts';
import type { PacketObservation, PolicyName } from '../model/packet.ts';
import type { Series } from '../model/series.ts';
import { printable } from '../platform/printable.ts';
import type { SeriesTable } from '../series/series.ts';
import type { LineOrigin, Repeats } from '../sources/source.ts';
import {
  createDecisions,
  type Decision,
  type DecisionOptions,
  type Decisions,
  type LostPacket,
  weightOf,
} from './decision.ts';
import type { FlowMeaning } from './flow-cache.ts';
import type { QueuedFlow } from './lookup-queue.ts';
import { type Alike, createRepeatedDecisions } from './repeated-decisions.ts';
import type { Statistics } from './statistics.ts';
import { createFlowTwins } from './twins.ts';

export { createDecisions, type Decision, type Decisions, observe } from './decision.ts';
export type { FlowMeaning } from './flow-cache.ts';
export { createLookupGate, createLookupQueue, type LookupQueue, type QueuedFlow } from './lookup-queue.ts';
export { createStatistics, type Statistics } from './statistics.ts';

export interface PipelineOptions extends DecisionOptions {
  statistics: Statistics;
  /** Flows of Calico will come, so packets are remembered that their LOG lines have shown. By default from the first flow on. */
  hasFlows?: boolean;
  /** Called for each line that counts, before it is counted: what is due before `time` can be written. */
  advance: (node: string, time: Millis) => void;
  /** Before then `advance` does nothing, whatever is counted in the second before; by default it never does. */
  quietUntil?: (node: string) => Millis;
  series: (node: string) => SeriesTable;
  incidents: (node: string) => NodeIncidents;
  /** Asked about each lost packet that is no noise: true keeps it, uncounted, until its owners are looked up (`resume`). */
  hold?: ((alike: Alike, observation: PacketObservation | Martian, ends: Ends) => boolean) | undefined;
  /** Undefined: nobody needs single packets. */
  packets?: PacketSink | undefined;
}

/** Takes single packets, for what is told of them beside Events: the audit, metrics by owner, rows. */
export interface PacketSink {
  drop: (drop: Drop) => void;
  /** Takes a packet that was accepted, or of which only the log is known. Undefined: these are not needed. */
  logged?: ((drop: Drop) => void) | undefined;
  /** Records of the node's log are missing. */
  gap?: (suppressed: Suppressed, time: Millis) => void;
  /** Looks at what varies from line to line, too, so no packet is counted by its likeness to another. */
  readonly everyLine?: boolean;
}

/** A packet, or `weight` packets like it, with what was found out about it. */
export interface Drop {
  line: LogLine;
  observation: PacketObservation | Martian;
  meaning: FlowMeaning;
  weight: number;
}

/** Decides what becomes of a line, and does it: from lines to counts, without I/O and without waiting. */
export interface Pipeline {
  take: (line: LogLine, origin: LineOrigin) => void;
  /** Undefined if each line is shown by itself. */
  repeats?: Repeats | undefined;
  resume: (flow: QueuedFlow) => void;
  /** Log was lost before it could be read: counts near it are lower bounds. */
  lost: (by: string, count: number | undefined, time: Millis) => void;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { statistics, packets, quietUntil } = options;
  const decisions = createDecisions(options);
  const carryOut = createCarryingOut(options, decisions);
  const repeatedDecisions = createRepeatedDecisions({
    epochAt: decisions.epochAt,
    quietUntil,
    isByLines: quietUntil !== undefined,
    carryOut(decision, alike) {
      statistics.observed(alike.line, decision.observation, alike.lines);
      carryOut.decision(decision, alike);
    },
  });
  return {
    take(line, origin) {
      repeatedDecisions.flush();
      const decision = decisions.decide(line, origin);
      repeatedDecisions.decided(line, decision);
      if (decision === undefined || decision.kind === 'part') return;
      if (decision.kind !== 'refused' && decision.kind !== 'twin') statistics.observed(line, decision.observation);
      carryOut.decision(decision, { line, lines: 1, last: undefined });
    },
    repeats: packets?.everyLine === true ? undefined : repeatedDecisions,
    resume({ line, observation, weight, first, last }) {
      repeatedDecisions.flush();
      const lost = decisions.lost(line, observation);
      carryOut.settle(line, lost, weight, 1);
      if (lost.isIgnored) return;
      carryOut.report(lost.meaning, first, 1);
      if (weight > 1) carryOut.report(lost.meaning, last, weight - 1);
    },
    lost(by, count, time) {
      repeatedDecisions.flush();
      statistics.suppressed += count ?? 1;
      carryOut.suppress({ kind: 'suppressed', by, count, affects: 'everything' }, options.node ?? '', time);
    },
  };
}

/** Carries decisions out: each becomes counts. */
function createCarryingOut(options: PipelineOptions, decisions: Decisions) {
  const { statistics, packets: sink, hold } = options;
  const twins = createFlowTwins(options.hasFlows);
  return { decision: carryOut, settle, report, suppress };

  function carryOut(decision: Decision, alike: Alike): void {
    const { line, lines } = alike;
    switch (decision.kind) {
      case 'drop':
        return takeDrop(alike, decision);
      case 'incident':
        return takeIncident(line, decision);
      case 'gap':
        return suppress(decision.observation, decision.node, line.time);
      case 'refused':
        statistics.notKernel++;
        return;
      case 'no-drop': {
        const { observation } = decision;
        const weight = weightOf(observation) * lines;
        return sink?.logged?.({ line, observation, meaning: decisions.meaningOf(line, observation), weight });
      }
      case 'twin':
      case 'part':
      case 'unparsable':
        return;
      default:
        decision satisfies never;
    }
  }

  function takeDrop(alike: Alike, lost: LostPacket): void {
    const { line, lines, last } = alike;
    const { observation, meaning } = lost;
    if (meaning.noise === undefined) {
      if (observation.kind === 'packet' && observation.enforcer === 'host-firewall') noteFirewall(meaning.node, alike);
      if (hold?.(alike, observation, meaning.ends)) return;
    }
    const packets = twins.uncounted(meaning.findings, weightOf(observation) * lines, line.time);
    if (packets === 0) return;
    settle(line, lost, packets, lines);
    if (lost.isIgnored) return;
    report(meaning, line.time, packets, last);
  }

  function noteFirewall(node: string, { line, lines, last }: Alike): void {
    const incidents = options.incidents(node);
    incidents.firewallDropped(line.time);
    if (lines > 1) incidents.firewallDropped(last ?? line.time, lines - 1);
  }

  function settle(line: LogLine, { observation, meaning }: LostPacket, weight: number, lines: number): void {
    sink?.drop({ line, observation, meaning, weight });
    statistics.resolved(meaning.ends, meaning.noise !== undefined, weight, lines);
  }

  function report({ findings, node }: FlowMeaning, time: Millis, weight: number, last?: Millis): void {
    options.advance(node, time);
    twins.note(findings, weight, time);
    for (const finding of findings) options.series(node).count(finding, time, weight, last);
  }

  function takeIncident(line: LogLine, { observation, node }: Decision & { kind: 'incident' }): void {
    if (node === '') {
      statistics.nodeUnknown++;
      return;
    }
    options.advance(node, line.time);
    options.incidents(node).take(observation, line);
  }

  function suppress(suppressed: Suppressed, node: string, time: Millis): void {
    sink?.gap?.(suppressed, time);
    options.advance(node, time);
    options.series(node).suppress(suppressed, node, time);
  }
}

interface MessageOptions {
  /** The wall clock at a time of the series; by default that is the wall clock's. */
  readonly toWall?: (time: Millis) => Millis;
  /** The verdict of policies on the drop, where they were asked. */
  readonly answer?: PolicyVerdict | undefined;
}

/** One line, without tabs, mentions and links; the publisher cuts it. */
export function messageOf(series: Series, { toWall = (time) => time, answer }: MessageOptions = {}): string {
  const { details, node, type } = series.finding;
  const lowerBound = series.suppressed
    ? 'Log lines were suppressed or lost meanwhile, so there were at least this many.'
    : '';
  const message =
    details.kind === 'incident'
      ? incidentMessage(onWallClock(details, toWall), node, lowerBound, type)
      : dropMessage(series, details, lowerBound, answer);
  return printable(message);
}

/** The message, and the policy that denied the packets where policies were asked. */
export function textOf(series: Series, options: MessageOptions): { message: string; policy: PolicyName | undefined } {
  return { message: messageOf(series, options), policy: options.answer?.policy };
}

function onWallClock(details: IncidentDetails, toWall: (time: Millis) => Millis): IncidentDetails {
  const { since, last, ended } = details;
  return {
    ...details,
    since: toWall(since),
    last: toWall(last),
    ended: ended === undefined ? undefined : toWall(ended),
  };
}
