import { explainMartian } from '../drops/drops.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type {
  ConntrackFull,
  Martian,
  NeighbourOverflow,
  Observation,
  PacketPart,
  Suppressed,
  Unparsable,
} from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { ProgramRecord } from '../model/program-record.ts';
import {
  isPacketLogger,
  parse,
  parseDroppedLogs,
  parseProgramRecord,
  type PrefixTable,
  type Refused,
} from '../parsing/parsing.ts';
import type { Directory, Moment } from '../resolving/directory.ts';
import { nodeOf, resolveMartian } from '../resolving/resolver.ts';
import type { LineOrigin } from '../sources/source.ts';
import { createFlowMemo, type FlowMeaning } from './flow-cache.ts';
import { createTwinLines, createVerdictLines } from './twins.ts';
import { containerOf } from '../log-formats/container-path.ts';
import { copy } from '../platform/address.ts';

/** The outcome of a line, and why. The pipeline carries it out; `replay --explain` shows it. */
export type Decision =
  | LostPacket
  /** A packet that was accepted, or of which only the log is known. */
  | { kind: 'no-drop'; observation: PacketObservation }
  /** Another line of the same packet was counted. */
  | { kind: 'twin'; observation: PacketObservation }
  /** The rest of the packet is in another line. */
  | { kind: 'part'; observation: PacketPart }
  | { kind: 'incident'; observation: ProgramRecord | ConntrackFull | NeighbourOverflow; node: string }
  | { kind: 'gap'; observation: Suppressed; node: string }
  | { kind: 'unparsable'; observation: Unparsable; node: string }
  | Refused;

export interface LostPacket {
  kind: 'drop';
  observation: PacketObservation | Martian;
  meaning: FlowMeaning;
  isIgnored: boolean;
}

export interface DecisionOptions {
  prefixes: PrefixTable;
  directory: Directory;
  /** Name of the node that all lines come from, whatever host they name. */
  node: string | undefined;
  /** The node whose log of a container it is, where nothing else names it. */
  nodeOfLog?: ((path: string) => string | undefined) | undefined;
  /** The same as in `observe`. */
  programsAnywhere?: boolean;
  /** Make Events of link-local chatter too. */
  includeNoise: boolean;
}

export interface Decisions {
  /** Undefined if no format claims the line. */
  decide: (line: LogLine, origin: LineOrigin) => Decision | undefined;
  /** Decides on a packet that is known to be lost. */
  lost: (line: LogLine, observation: PacketObservation | Martian) => LostPacket;
  /** Finds the ends of a packet, lost or not. */
  meaningOf: (line: LogLine, observation: PacketObservation | Martian) => FlowMeaning;
  /** The same as in `FlowMemo`. */
  epochAt: (time: Millis) => number | undefined;
}

export function createDecisions({ prefixes, directory, includeNoise, ...options }: DecisionOptions): Decisions {
  const flows = createFlowMemo(directory, options.node);
  const uncounted = createTwinLines();
  const joined = createVerdictLines();

  return {
    lost,
    meaningOf,
    epochAt: flows.epochAt,
    decide(line, origin) {
      const found = observe(line, origin, prefixes, options.programsAnywhere);
      if (found === undefined) return undefined;
      const observation = found.kind === 'packet-part' ? joined(line, found) : found;
      switch (observation.kind) {
        case 'refused':
          return observation;
        case 'packet':
          if (observation.notice !== undefined) return twin(line, observation);
          if (observation.verdict === 'dropped' || observation.verdict === 'rejected') return lost(line, observation);
          return { kind: 'no-drop', observation };
        case 'packet-part':
          return { kind: 'part', observation };
        case 'martian':
          return lost(line, observation);
        case 'suppressed':
          return { kind: 'gap', observation, node: nodeOfLine(line) };
        case 'unparsable':
          return { kind: 'unparsable', observation, node: nodeOfLine(line) };
        default:
          return { kind: 'incident', observation, node: nodeOfLine(line) };
      }
    },
  };

  function twin(line: LogLine, observation: PacketObservation): Decision {
    const rest = uncounted(observation, line.time);
    return rest === undefined ? { kind: 'twin', observation } : lost(line, rest);
  }

  function lost(line: LogLine, observation: PacketObservation | Martian): LostPacket {
    const meaning = meaningOf(line, observation);
    return { kind: 'drop', observation, meaning, isIgnored: meaning.noise !== undefined && !includeNoise };
  }

  function meaningOf(line: LogLine, observation: PacketObservation | Martian): FlowMeaning {
    if (observation.kind === 'packet') return flows.meaningOf(line, observation);
    const node = nodeOfLine(line);
    const ends = resolveMartian(observation, directory, momentOf(line));
    return { node, ends, noise: undefined, findings: explainMartian(observation, ends, node) };
  }

  function nodeOfLine(line: LogLine): string {
    const named = nodeOf(options.node ?? line.host, undefined, directory, momentOf(line));
    return named || (options.nodeOfLog?.(line.source) ?? '');
  }
}

function momentOf({ time, timeIsExact }: LogLine): Moment {
  return { time, exact: timeIsExact };
}

export function weightOf(observation: PacketObservation | Martian): number {
  return observation.kind === 'packet' ? observation.repeat : 1;
}

/** No line that a kernel prints is longer. */
const longLine = 1024;
/** No name and no prefix in such a line is longer. */
const longText = 256;

/** `programsAnywhere`: kube-proxy and calico-node are believed in every log, not only in their own. */
export function observe(
  line: Pick<LogLine, 'text' | 'source' | 'program'>,
  origin: LineOrigin,
  prefixes: PrefixTable,
  programsAnywhere = false,
): Observation | Refused | undefined {
  const isProgram = origin === 'program' || origin === 'container';
  const writer = origin === 'container' ? containerOf(line.source)?.container : line.program;
  const packet = origin === 'program' ? undefined : parse(line.text, prefixes, origin, writer);
  if (packet !== undefined && packet.kind !== 'refused') return unbound(line.text, packet);
  if (origin === 'kernel' || !(isProgram || programsAnywhere)) return packet;
  if (origin === 'container' && isPacketLogger(writer)) return packet;
  return parseDroppedLogs(line.text, line.program) ?? parseProgramRecord(line.text, line.program) ?? packet;
}

/** A part of a text keeps all of it (64 KiB where a tenant writes) in memory, so long texts are copied, and names in them cut. */
function unbound(text: string, observation: Observation): Observation {
  if (text.length <= longLine) return observation;
  return shortened(observation) as Observation;
}

/** V8 copies shorter parts of a text by itself. */
const leastSlice = 13;

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length < leastSlice ? value : copy(value.slice(0, longText));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shortened);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each)]));
}
