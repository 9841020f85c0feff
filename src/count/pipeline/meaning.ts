/** Finds the meaning of a packet: its node, its ends, whether it is noise, and the affected objects. */
import { explainMartian, explainPacket, noiseOf, sidesOf } from '../../explain/drops/drops.ts';
import type { Ends } from '../../base/model/endpoint.ts';
import type { Finding, FlowSide } from '../../base/model/finding.ts';
import { isSameFlow, orient, type Orientation, type OrientedPacket } from '../../base/model/flow-identity.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { Martian } from '../../base/model/observation.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { hashOf } from '../../base/platform/hash.ts';
import {
  type EndpointFinder,
  type Moment,
  loggedNode,
  resolveMartian,
  resolvePacket,
} from '../../explain/resolving/resolving.ts';

/** What is equal for all packets of one flow through one rule, as long as addresses keep their owners. */
export interface FlowMeaning {
  node: string;
  ends: Ends;
  noise: string | undefined;
  /** Made on first use, because most packets of a flood are counted without them. */
  readonly findings: readonly Finding[];
  /** The sides that the findings are about, in the same order; undefined if findings are needed to count them. */
  readonly sides: readonly FlowSide[] | undefined;
}

/** `weight` equal packets with their meaning. */
export interface Drop {
  line: LogLine;
  observation: PacketObservation | Martian;
  meaning: FlowMeaning;
  weight: number;
}

export interface MeaningOptions {
  endpoints: EndpointFinder;
  /** Name of the node that all lines come from, whatever host they name. */
  node: string | undefined;
  /** Returns the node of a container's log by its path, for lines that do not name their node. */
  nodeOfLog?: ((path: string) => string | undefined) | undefined;
}

/** The number of slots. It is a power of two, so that the low bits of a flow's hash choose the slot. */
const slots = 8192;

interface Entry extends OrientedPacket {
  host: string | undefined;
  exact: boolean;
  meaning: FlowMeaning;
}

export interface Meanings {
  meaningOf: (line: LogLine, observation: PacketObservation | Martian) => FlowMeaning;
  /** Returns the number of the present epoch, during which equal packets mean the same; undefined for a time outside of it. */
  epochAt: (time: Millis) => number | undefined;
  nodeOf: (line: LogLine) => string;
}

/** A flow replaces another one with the same hash: an LRU needs a key for each packet, which costs more than all the rest. */
export function createMeanings({ endpoints, node: fixedNode, nodeOfLog }: MeaningOptions): Meanings {
  const memo: (Entry | undefined)[] = Array.from({ length: slots });
  /** The last hash in each slot. A flow is remembered the second time it comes, because flows of a flood with random addresses come once. */
  const asked = new Int32Array(slots);
  let epoch = { from: Infinity, until: -Infinity };
  let version = endpoints.version;
  let epochs = 0;

  return {
    meaningOf: (line: LogLine, observation: PacketObservation | Martian): FlowMeaning =>
      observation.kind === 'packet' ? packetMeaning(line, observation) : martianMeaning(line, observation),
    epochAt: (time: Millis): number | undefined => (isWithin(time) ? epochs : undefined),
    nodeOf: nodeOfLine,
  };

  function isWithin(time: Millis): boolean {
    return time >= epoch.from && time < epoch.until && endpoints.version === version;
  }

  function packetMeaning(line: LogLine, observation: PacketObservation): FlowMeaning {
    // ICMP errors are rare, and the packet inside would double the key.
    if (observation.inner !== undefined) return understand(line, observation);
    if (!isWithin(line.time)) {
      memo.fill(undefined);
      epoch = endpoints.epoch(line.time);
      version = endpoints.version;
      epochs++;
    }
    const orientation = orient(observation.packet);
    const hash = hashOfFlow(observation.packet, orientation);
    const slot = hash & (slots - 1);
    const known = memo[slot];
    if (
      known !== undefined &&
      known.host === line.host &&
      known.exact === line.timeIsExact &&
      isSameFlow(known, observation, orientation)
    )
      return known.meaning;
    const meaning = understand(line, observation);
    if (asked[slot] === hash)
      memo[slot] = { host: line.host, exact: line.timeIsExact, observation, orientation, meaning };
    asked[slot] = hash;
    return meaning;
  }

  function understand(line: LogLine, observation: PacketObservation): FlowMeaning {
    const at = momentOf(line);
    const node = loggedNode(fixedNode ?? line.host, observation, endpoints, at);
    const ends = resolvePacket(observation, endpoints, at, node);
    const noise = noiseOf(observation.packet, observation.destinationMac, ends, observation.dropReason);
    return new PacketMeaning({ node, ends, noise }, observation, endpoints);
  }

  function martianMeaning(line: LogLine, observation: Martian): FlowMeaning {
    const node = nodeOfLine(line);
    const ends = resolveMartian(observation, endpoints, momentOf(line));
    const findings = explainMartian(observation, ends, node);
    return { node, ends, noise: undefined, findings, sides: undefined };
  }

  function nodeOfLine(line: LogLine): string {
    const host = fixedNode ?? line.host;
    const ofLog = nodeOfLog?.(line.source);
    // A collector may name its own host.
    if (ofLog !== undefined && fixedNode === undefined && endpoints.nodeOfHost(host ?? '') === undefined) return ofLog;
    return loggedNode(host, undefined, endpoints, momentOf(line));
  }
}

class PacketMeaning implements FlowMeaning {
  readonly node: string;
  readonly ends: Ends;
  readonly noise: string | undefined;
  readonly #observation: PacketObservation;
  readonly #endpoints: EndpointFinder;
  #findings: readonly Finding[] | undefined;

  constructor(
    { node, ends, noise }: Pick<FlowMeaning, 'node' | 'ends' | 'noise'>,
    observation: PacketObservation,
    endpoints: EndpointFinder,
  ) {
    this.node = node;
    this.ends = ends;
    this.noise = noise;
    this.#observation = observation;
    this.#endpoints = endpoints;
  }

  get findings(): readonly Finding[] {
    const { portName, podRange } = this.#endpoints;
    return (this.#findings ??= explainPacket(this.#observation, this.ends, this.node, portName, podRange));
  }

  get sides(): readonly FlowSide[] | undefined {
    return sidesOf(this.#observation, this.ends, this.node);
  }
}

function momentOf({ time, timeIsExact }: LogLine): Moment {
  return { time, exact: timeIsExact };
}

/** Hashes the port and the last characters of the addresses, where they differ most. */
function hashOfFlow({ source, destination }: PacketObservation['packet'], { port }: Orientation): number {
  const ofSource = hashOf(source, port ?? 0, Math.max(0, source.length - tail));
  const hash = hashOf(destination, ofSource, Math.max(0, destination.length - tail));
  return hash ^ (hash >>> 15);
}

const tail = 6;
