import { explainPacket, noiseOf } from '../../src/drops/drops.ts';
import type { LogLine } from '../../src/model/log-line.ts';
import type { PacketObservation } from '../../src/model/packet.ts';
import type { FlowMeaning } from '../../src/pipeline/meaning.ts';
import type { Directory } from '../../src/resolving/directory.ts';
import { nodeOf, resolvePacket } from '../../src/resolving/resolver.ts';

/** The cache stands for this: resolving and explaining, each time again. */
export function afresh(
  directory: Directory,
  fixedNode: string | undefined,
  from: LogLine,
  seen: PacketObservation,
): FlowMeaning {
  const at = { time: from.time, exact: from.timeIsExact };
  const name = nodeOf(fixedNode ?? from.host, seen, directory, at);
  const ends = resolvePacket(seen, directory, at);
  return {
    node: name,
    ends,
    noise: noiseOf(seen.packet, seen.destinationMac, ends),
    findings: explainPacket(seen, ends, name),
  };
}
