import { explainPacket, noiseOf, sidesOf } from '../../../src/explain/drops/drops.ts';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import type { FlowMeaning } from '../../../src/count/pipeline/meaning.ts';
import type { EndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { loggedNode, resolvePacket } from '../../../src/explain/resolving/resolver.ts';

/** Takes the place of the cache: resolves and explains each packet again. */
export function afresh(
  endpoints: EndpointFinder,
  fixedNode: string | undefined,
  from: LogLine,
  seen: PacketObservation,
): FlowMeaning {
  const at = { time: from.time, exact: from.timeIsExact };
  const name = loggedNode(fixedNode ?? from.host, seen, endpoints, at);
  const ends = resolvePacket(seen, endpoints, at);
  return {
    node: name,
    ends,
    noise: noiseOf(seen.packet, seen.destinationMac, ends),
    findings: explainPacket(seen, ends, name, undefined, endpoints.podRange),
    sides: sidesOf(seen, ends, name),
  };
}

/** Everything that a meaning says, as plain data. */
export function shown({ node, ends, noise, findings, sides }: FlowMeaning): FlowMeaning {
  return { node, ends, noise, findings, sides };
}
