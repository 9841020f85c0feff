import { explainPacket, noiseOf } from '../drops/drops.ts';
import { isSameFlow, orient, type Orientation, type OrientedPacket } from '../model/flow-identity.ts';
import type { Ends } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { Directory } from '../resolving/directory.ts';
import { nodeOf, resolvePacket } from '../resolving/resolver.ts';
import { hashOf } from '../platform/hash.ts';

/** All that is the same for every packet of one flow through one rule, as long as addresses keep their owners. */
export interface FlowMeaning {
  node: string;
  ends: Ends;
  noise: string | undefined;
  findings: readonly Finding[];
}

/** Places for flows. A power of two: the hash of a flow picks its place. */
const places = 8192;

interface Entry extends OrientedPacket {
  host: string | undefined;
  exact: boolean;
  meaning: FlowMeaning;
}

export interface FlowMemo {
  meaningOf: (line: LogLine, observation: PacketObservation) => FlowMeaning;
  /** Another number wherever the same packet may mean something else; undefined: not known yet of that time. */
  epochAt: (time: Millis) => number | undefined;
}

/**
 * Remembers what packets of 8,192 flows mean, for one epoch of the directory; a flow takes the place of another one with the same
 * hash. `fixedNode`: the node of all lines, by default the host of each. An LRU's keys, made for each packet, cost more than all the rest.
 */
export function createFlowMemo(directory: Directory, fixedNode: string | undefined): FlowMemo {
  const memo: (Entry | undefined)[] = Array.from({ length: places });
  /** The hash last asked for at each place. A flow is remembered when it comes again; floods with random addresses never do. */
  const asked = new Int32Array(places);
  let epoch = { from: Infinity, until: -Infinity };
  let version = directory.version;
  let epochs = 0;

  return { meaningOf, epochAt: (time) => (isWithin(time) ? epochs : undefined) };

  function isWithin(time: Millis): boolean {
    return time >= epoch.from && time < epoch.until && directory.version === version;
  }

  function meaningOf(line: LogLine, observation: PacketObservation): FlowMeaning {
    // ICMP errors are rare, and the packet inside would double the key.
    if (observation.inner !== undefined) return understand(line, observation);
    if (!isWithin(line.time)) {
      memo.fill(undefined);
      epoch = directory.epoch(line.time);
      version = directory.version;
      epochs++;
    }
    const orientation = orient(observation.packet);
    const hash = placeOf(observation.packet, orientation);
    const place = hash & (places - 1);
    const known = memo[place];
    if (
      known !== undefined &&
      known.host === line.host &&
      known.exact === line.timeIsExact &&
      isSameFlow(known, observation, orientation)
    )
      return known.meaning;
    const meaning = understand(line, observation);
    if (asked[place] === hash)
      memo[place] = { host: line.host, exact: line.timeIsExact, observation, orientation, meaning };
    asked[place] = hash;
    return meaning;
  }

  function understand(line: LogLine, observation: PacketObservation): FlowMeaning {
    const at = { time: line.time, exact: line.timeIsExact };
    const node = nodeOf(fixedNode ?? line.host, observation, directory, at);
    const ends = resolvePacket(observation, directory, at, node);
    return {
      node,
      ends,
      noise: noiseOf(observation.packet, observation.destinationMac, ends, observation.dropReason),
      findings: explainPacket(observation, ends, node, directory.portName),
    };
  }
}

/** Hashes the port and the ends of the addresses, where they differ most. */
function placeOf({ source, destination }: PacketObservation['packet'], { port }: Orientation): number {
  const ofSource = hashOf(source, port ?? 0, Math.max(0, source.length - tail));
  const hash = hashOf(destination, ofSource, Math.max(0, destination.length - tail));
  return hash ^ (hash >>> 15);
}

const tail = 6;
