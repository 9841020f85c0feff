/** Decides the kind of a line, and how it is counted. `replay --explain` shows it. */
import { containerOfPath } from '../../base/log-formats/container-log.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type {
  ConnectFailure,
  KernelReport,
  Martian,
  Observation,
  PacketPart,
  Suppressed,
  Unparsable,
} from '../../base/model/observation.ts';
import { kernelDrop, type PacketObservation } from '../../base/model/packet.ts';
import type { ProgramRecord } from '../../base/model/program-record.ts';
import {
  decodeBytes,
  type FormatRefusal,
  isPacketLogger,
  parse,
  parseDroppedLogs,
  parseProgramRecord,
  type PrefixTable,
} from '../../read/parsing/parsing.ts';
import { copy } from '../../base/platform/address.ts';
import { isNetworkComponent } from '../../read/sources/reading.ts';
import type { LineOrigin } from '../../read/sources/sources.ts';
import { createMeanings, type FlowMeaning, type MeaningOptions } from './meaning.ts';
import { createTwinLines, createVerdictLines } from './twins.ts';

export type Decision =
  | LostPacket
  /** A packet that was accepted, or whose verdict is not known. */
  | { kind: 'no-drop'; observation: PacketObservation }
  /** A packet that was already counted by another line (twins.ts). */
  | { kind: 'twin'; observation: PacketObservation | Martian }
  /** The rest of the packet is in another line. */
  | { kind: 'part'; observation: PacketPart }
  | { kind: 'incident'; observation: ProgramRecord | KernelReport; node: string }
  /** A connection that failed. It is a drop only if policies deny it (failures.ts). */
  | { kind: 'failure'; observation: ConnectFailure }
  | { kind: 'gap'; observation: Suppressed; node: string }
  | { kind: 'unparsable'; observation: Unparsable; node: string }
  | FormatRefusal;

export interface LostPacket {
  kind: 'drop';
  observation: PacketObservation | Martian;
  meaning: FlowMeaning;
  isIgnored: boolean;
}

/** The settings that may change while lines are read. */
export interface DecisionSettings {
  prefixes: PrefixTable;
  /** Whether noise, such as multicast, also gets Events. */
  includeNoise: boolean;
}

export interface DecisionOptions extends DecisionSettings, MeaningOptions {
  /** See `observe`. */
  programsAnywhere?: boolean;
  /** Whether kernel-drops is a source, so that each drop may have a second line. By default, from its first line on, of either kind. */
  hasKernelDrops?: boolean;
}

export interface Decisions {
  /** Returns undefined if the line has no known format. */
  decide: (line: LogLine, origin: LineOrigin) => Decision | undefined;
  lost: (line: LogLine, observation: PacketObservation | Martian) => LostPacket;
  readonly meaningOf: (line: LogLine, observation: PacketObservation | Martian) => FlowMeaning;
  readonly epochAt: (time: Millis) => number | undefined;
  change: (settings: DecisionSettings) => void;
}

export function createDecisions(options: DecisionOptions): Decisions {
  const meanings = createMeanings(options);
  const uncounted = createTwinLines();
  const joined = createVerdictLines();
  let { prefixes, includeNoise } = options;
  let hasKernelDrops = options.hasKernelDrops === true;

  return {
    decide,
    lost,
    meaningOf: meanings.meaningOf,
    epochAt: meanings.epochAt,
    change: (settings: DecisionSettings): void => void ({ prefixes, includeNoise } = settings),
  };

  function decide(line: LogLine, origin: LineOrigin): Decision | undefined {
    const observed = observe(line, origin, prefixes, options.programsAnywhere);
    if (observed === undefined) return undefined;
    const observation = observed.kind === 'packet-part' ? joined(line, observed) : observed;
    switch (observation.kind) {
      case 'refused':
        return observation;
      case 'packet':
        if (observation.notice !== undefined) return twin(line, observation);
        if (observation.verdict === 'dropped' || observation.verdict === 'rejected') return logged(line, observation);
        return { kind: 'no-drop', observation };
      case 'packet-part':
        return { kind: 'part', observation };
      case 'martian':
        return observation.notice === undefined ? logged(line, observation) : twin(line, observation);
      case 'connect-failure':
        // It is compared with each line of a packet, so none of them may be joined.
        hasKernelDrops = true;
        return { kind: 'failure', observation };
      case 'suppressed':
        return { kind: 'gap', observation, node: meanings.nodeOf(line) };
      case 'unparsable':
        return { kind: 'unparsable', observation, node: meanings.nodeOf(line) };
      default:
        return { kind: 'incident', observation, node: meanings.nodeOf(line) };
    }
  }

  function logged(line: LogLine, observation: PacketObservation | Martian): Decision {
    return hasKernelDrops ? twin(line, { ...observation, notice: 'verdict' }) : lost(line, observation);
  }

  function twin(line: LogLine, observation: PacketObservation | Martian): Decision {
    hasKernelDrops ||= observation.logger === kernelDrop;
    const rest = uncounted(observation, line.time);
    return rest === undefined ? { kind: 'twin', observation } : lost(line, rest);
  }

  function lost(line: LogLine, observation: PacketObservation | Martian): LostPacket {
    const meaning = meanings.meaningOf(line, observation);
    return { kind: 'drop', observation, meaning, isIgnored: meaning.noise !== undefined && !includeNoise };
  }
}

export function packetWeight(observation: PacketObservation | Martian): number {
  return observation.kind === 'packet' ? observation.repeat : 1;
}

/** The most characters of a line of the kernel. */
const longLine = 1024;
/** Names in longer lines are cut to this length, because anybody may have written them. */
const longText = 256;

/**
 * `programsAnywhere`: records of kube-proxy and calico-node are believed in every log, not only in their own. A log or a record that names
 * a container is that container's, so there they are believed only of containers that the agent reads by default.
 */
export function observe(
  line: Pick<LogLine, 'text' | 'source' | 'program' | 'container'>,
  origin: LineOrigin,
  prefixes: PrefixTable,
  programsAnywhere = false,
): Observation | FormatRefusal | undefined {
  const isProgram = origin === 'program' || origin === 'container';
  const container = line.container ?? (origin === 'container' ? containerOfPath(line.source) : undefined);
  const writer = origin === 'container' ? container?.container : line.program;
  const packet = origin === 'program' ? undefined : parse(line.text, prefixes, origin, writer);
  if (packet !== undefined && packet.kind !== 'refused') return unbound(line.text, packet);
  if (origin === 'kernel' || !(isProgram || programsAnywhere)) return packet;
  if (origin === 'container' && isPacketLogger(writer)) return packet;
  // Sources of programs have decoded their texts.
  const text = isProgram ? line.text : decodeBytes(line.text);
  const record = parseDroppedLogs(text, line.program) ?? parseProgramRecord(text, line.program ?? container?.container);
  if (record === undefined) return packet;
  return programsAnywhere && container !== undefined && !isNetworkComponent(container) ? refusedOf(record) : record;
}

const components = ['kube-proxy', 'calico-node'];

/** Records of klog may be of any program in Go. */
function refusedOf(record: Suppressed | ProgramRecord): FormatRefusal | undefined {
  if (record.kind === 'program-record' && record.program === 'unknown') return undefined;
  return { kind: 'refused', format: 'kube-proxy or calico-node', writers: components };
}

/** Copies and cuts names, because a slice keeps the whole text in memory, up to 64 KiB. */
function unbound(text: string, observation: Observation): Observation {
  if (text.length <= longLine) return observation;
  return shortened(observation) as Observation;
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return copy(value.slice(0, longText));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shortened);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each)]));
}
