import { copy } from '../platform/address.ts';
import { explainMartian } from '../drops/findings.ts';
import { createFlowMemo, type FlowMeaning } from './flow-cache.ts';
import type { Ends } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { ConntrackFull, Martian, NeighbourOverflow, Observation, Suppressed } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { ProgramRecord } from '../model/program-record.ts';
import type { NodeIncidents } from '../incidents/node-incidents.ts';
import { parse, type Refused } from '../parsing/formats.ts';
import type { PrefixTable } from '../parsing/netfilter/prefixes.ts';
import { parseDroppedLogs } from '../parsing/components/dropped-logs.ts';
import { parseProgramRecord } from '../parsing/components/program-record.ts';
import type { Directory, Moment } from '../resolving/directory.ts';
import { nodeOf, resolveMartian } from '../resolving/resolver.ts';
import type { SeriesTable } from '../series/table.ts';
import { containerOf } from '../log-formats/container-path.ts';
import type { LineOrigin } from '../sources/source.ts';
import type { Statistics } from './statistics.ts';
import type { QueuedFlow } from './lookup-queue.ts';

export interface PipelineOptions {
  prefixes: PrefixTable;
  directory: Directory;
  statistics: Statistics;
  /** Called for each line that counts, before it is counted: what is due before `time` can be written. */
  advance: (node: string, time: Millis) => void;
  series: (node: string) => SeriesTable;
  incidents: (node: string) => NodeIncidents;
  /** The node whose log of a container it is, where nothing else tells. */
  nodeOfLog?: ((path: string) => string | undefined) | undefined;
  /** kube-proxy and calico-node are believed in logs where any program may write, too. Else only in logs of their own. */
  programsAnywhere?: boolean;
  /** Name of the node all lines come from, over what the lines say. */
  node: string | undefined;
  /** Make Events of link-local chatter too. */
  includeNoise: boolean;
  /**
   * Asked about each dropped packet that is no noise: true keeps it from being counted now, because it is still being
   * found out whose it is; it comes back by `resume`.
   */
  hold?: ((line: LogLine, observation: PacketObservation | Martian, ends: Ends) => boolean) | undefined;
  /** Sees every dropped or rejected packet. */
  onDrop?:
    | ((
        line: LogLine,
        observation: PacketObservation | Martian,
        ends: Ends,
        node: string,
        noise: string | undefined,
      ) => void)
    | undefined;
}

/** parsing → resolving → explaining → series, for one line at a time. Does no I/O and never waits. */
export interface Pipeline {
  take: (line: LogLine, origin: LineOrigin) => void;
  /** Counts what `hold` had kept back. */
  resume: (flow: QueuedFlow) => void;
  /** Log was lost before it could be read: counts near it are lower bounds. */
  lost: (by: string, count: number | undefined, time: Millis) => void;
}

/** Longer than any line that a kernel prints. */
const longLine = 1024;
/** Longer than any name or prefix in one. */
const longText = 256;

export function createPipeline(options: PipelineOptions): Pipeline {
  const { prefixes, directory, statistics, includeNoise, onDrop, hold } = options;
  const understand = createFlowMemo(directory, options.node);
  return {
    take(line, origin) {
      const observation = observe(line, origin);
      if (observation === undefined) return;
      if (observation.kind === 'refused') {
        statistics.notKernel++;
        return;
      }
      const at = { time: line.time, exact: line.timeIsExact };
      statistics.observed(line, observation);
      switch (observation.kind) {
        case 'packet':
          return takePacket(line, observation);
        case 'martian':
          return takeDrop(line, observation, understandMartian(line, observation), 1);
        case 'conntrack-full':
        case 'neighbour-overflow':
        case 'program-record':
          return takeIncident(line, observation, at);
        case 'suppressed':
          return suppress(observation, nodeOfLine(line, at), line.time);
        case 'unparsable':
          return;
        default:
          observation satisfies never;
      }
    },
    resume({ line, observation, weight, first, last }) {
      const { node, ends, noise, findings } =
        observation.kind === 'packet' ? understand(line, observation) : understandMartian(line, observation);
      settle(line, observation, ends, node, noise, weight);
      if (noise !== undefined && !includeNoise) return;
      report(findings, node, first, 1);
      if (weight > 1) report(findings, node, last, weight - 1);
    },
    lost(by, count, time) {
      statistics.suppressed += count ?? 1;
      suppress({ kind: 'suppressed', by, count, affects: 'everything' }, options.node ?? '', time);
    },
  };

  function observe(line: LogLine, origin: LineOrigin): Observation | Refused | undefined {
    const isProgram = origin === 'program' || origin === 'container';
    const writer = origin === 'container' ? containerOf(line.source)?.container : line.program;
    const packet = origin === 'program' ? undefined : parse(line.text, prefixes, origin, writer);
    if (packet !== undefined && packet.kind !== 'refused') return unbound(line.text, packet);
    if (origin === 'kernel' || !(isProgram || options.programsAnywhere)) return packet;
    return parseDroppedLogs(line.text, line.program) ?? parseProgramRecord(line.text, line.program) ?? packet;
  }

  function nodeOfLine(line: LogLine, at: Moment): string {
    return nodeOf(options.node ?? line.host, undefined, directory, at) || (options.nodeOfLog?.(line.source) ?? '');
  }

  function takePacket(line: LogLine, observation: PacketObservation): void {
    if (observation.verdict !== 'dropped' && observation.verdict !== 'rejected') return;
    takeDrop(line, observation, understand(line, observation), observation.repeat);
  }

  function takeDrop(
    line: LogLine,
    observation: PacketObservation | Martian,
    { node, ends, noise, findings }: FlowMeaning,
    weight: number,
  ): void {
    if (observation.kind === 'packet' && observation.enforcer === 'host-firewall' && noise === undefined)
      options.incidents(node).firewallDropped(line.time);
    if (noise === undefined && hold?.(line, observation, ends)) return;
    settle(line, observation, ends, node, noise, weight);
    if (noise !== undefined && !includeNoise) return;
    report(findings, node, line.time, weight);
  }

  function settle(
    line: LogLine,
    observation: PacketObservation | Martian,
    ends: Ends,
    node: string,
    noise: string | undefined,
    weight: number,
  ): void {
    onDrop?.(line, observation, ends, node, noise);
    statistics.resolved(ends, noise !== undefined, weight);
  }

  function understandMartian(line: LogLine, observation: Martian): FlowMeaning {
    const at = { time: line.time, exact: line.timeIsExact };
    const node = nodeOfLine(line, at);
    const ends = resolveMartian(observation, directory, at);
    return { node, ends, noise: undefined, findings: explainMartian(observation, ends, node) };
  }

  function suppress(suppressed: Suppressed, node: string, time: Millis): void {
    options.advance(node, time);
    options.series(node).suppress(suppressed, node, time);
  }

  function takeIncident(
    line: LogLine,
    observation: ProgramRecord | ConntrackFull | NeighbourOverflow,
    at: Moment,
  ): void {
    const node = nodeOfLine(line, at);
    if (node === '') {
      statistics.nodeUnknown++;
      return;
    }
    options.advance(node, line.time);
    options.incidents(node).take(observation, line);
  }

  function report(findings: readonly Finding[], node: string, time: Millis, weight: number): void {
    options.advance(node, time);
    for (const finding of findings) options.series(node).count(finding, time, weight);
  }
}

/**
 * What is cut out of a text keeps the whole of it in memory, for as long as its flow is remembered: 64 KiB, where somebody writes
 * lines of his own. Nor may his names be as long as that.
 */
function unbound(text: string, observation: Observation): Observation {
  if (text.length <= longLine) return observation;
  return JSON.parse(JSON.stringify(observation), shortened) as Observation;
}

function shortened(_: string, value: unknown): unknown {
  return typeof value === 'string' ? copy(value.slice(0, longText)) : value;
}
