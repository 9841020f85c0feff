/**
 * Packets of which several lines tell. All of this is in memory only: if a restart comes between the lines of a packet, both are counted, and
 * a verdict without its packet is unparsable.
 */
import { LRUCache } from 'lru-cache';
import type { Finding } from '../model/finding.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian, PacketPart, Unparsable } from '../model/observation.ts';
import { kernelDrop, type PacketObservation } from '../model/packet.ts';
import { generateNameOf } from '../resolving/resolving.ts';

/** Flows that are remembered until their other line comes. */
const flowsKept = 4096;
/** The queue of the kernel holds 1,024 packets that wait for a verdict. */
const verdictsKept = 1024;
/** Cilium writes both lines within microseconds; busy nodes stamp them further apart. */
const longestPause: Millis = 1000;
/** A flow of Calico comes at the end of an interval, which is five minutes by default. */
const longestInterval: Millis = 600_000;

/**
 * Calico may tell of a packet twice: by a LOG line at once, and by a flow at the end of an interval. As many packets of a flow as lines have
 * shown are skipped; the rest are those that a rate limit kept out of the log. The peer is not compared, because flows have no addresses.
 */
export function createFlowTwins(hasFlows = false) {
  const logged = new LRUCache<string, { packets: number; time: Millis }>({ max: flowsKept });

  return {
    /** Remembers how many packets lines have shown, if Calico's flows are read. */
    note(findings: readonly Finding[], packets: number, time: Millis): void {
      if (!hasFlows) return;
      for (const finding of findings) {
        const key = keyOf(finding);
        if (key === undefined || isFlow(finding)) continue;
        const known = logged.get(key);
        logged.set(key, { packets: packets + (known?.packets ?? 0), time });
      }
    },
    /** Returns how many packets of a flow no line has shown. */
    uncounted(findings: readonly Finding[], packets: number, time: Millis): number {
      const [finding] = findings;
      if (finding === undefined || !isFlow(finding)) return packets;
      hasFlows = true;
      const key = keyOf(finding);
      const known = key === undefined ? undefined : logged.get(key);
      if (known === undefined || Math.abs(known.time - time) > longestInterval) return packets;
      const counted = Math.min(known.packets, packets);
      known.packets -= counted;
      return packets - counted;
    },
  };
}

function isFlow({ details }: Finding): boolean {
  return details.kind === 'flow' && details.logger === 'calico-flow';
}

/** Names the end whose policies decided by its workload: a flow does not show the Pod. */
function keyOf({ regarding, details, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || details.enforcer !== 'network-policy') return undefined;
  const { direction, refusedBy, protocol, port } = details;
  if (refusedBy !== undefined && (refusedBy === 'receiver') !== (direction === 'receiving')) return undefined;
  return [regarding.namespace, generateNameOf(regarding.name), node, direction, protocol, port].join('|');
}

type Lost = PacketObservation | Martian;

/**
 * Two lines may tell of a packet that is dropped: a logger's, which names the policy or has the prefix of the rule, and the drop itself, of Cilium
 * or of the kernel. Either may be missing, so the first that comes is counted, and as many of the other kind are skipped.
 */
export function createTwinLines(): (observation: Lost, time: Millis) => Lost | undefined {
  /** `packets`: counted, while their other line has not come. */
  const waiting = new LRUCache<string, { notice: PacketObservation['notice']; packets: number; time: Millis }>({
    max: flowsKept,
  });
  const logged = new LRUCache<string, { observation: PacketObservation; time: Millis }>({ max: flowsKept });

  return function count(observation, time) {
    const uncounted = withoutCounted(observation, time);
    return uncounted?.kind === 'packet' ? asLogged(uncounted, time) : uncounted;
  };

  /** Says of a drop that the kernel tells of what the last LOG line of its flow said: the rule and the devices. */
  function asLogged(observation: PacketObservation, time: Millis): PacketObservation {
    if (observation.logger !== kernelDrop || observation.dropReason !== undefined) return observation;
    const { packet, notice } = observation;
    const last = logged.get(flowKey(observation));
    if (last === undefined || Math.abs(time - last.time) > longestInterval) return observation;
    return { ...last.observation, packet, notice, repeat: 1 };
  }

  /** Returns the packets that are to be counted; undefined if all of them were. */
  function withoutCounted(observation: Lost, time: Millis): Lost | undefined {
    const { notice } = observation;
    if (notice === undefined) return observation;
    const repeat = observation.kind === 'packet' ? observation.repeat : 1;
    if (notice === 'verdict' && observation.kind === 'packet' && observation.logger !== 'hubble')
      logged.set(flowKey(observation), { observation, time });
    const key = packetKey(observation);
    const known = waiting.get(key);
    const isRecent = known !== undefined && Math.abs(time - known.time) <= longestPause;
    if (!isRecent || known.notice === notice) {
      waiting.set(key, { notice, packets: repeat + (isRecent ? known.packets : 0), time });
      return observation;
    }
    const counted = Math.min(known.packets, repeat);
    if (counted === known.packets) waiting.delete(key);
    else known.packets -= counted;
    if (counted === repeat) return undefined;
    return observation.kind === 'packet' ? { ...observation, repeat: repeat - counted } : observation;
  }
}

/** A packet is of the Pod behind its device, whatever its source address is. */
function flowKey({ inInterface, packet }: PacketObservation): string {
  const { source, destination, protocol, destinationPort, icmpType } = packet;
  return [inInterface, source, destination, protocol, destinationPort ?? icmpType].join(' ');
}

/** The kernel's log calls these martians, and names no ports. */
const martians = new Set<string | undefined>(['IP_LOCAL_SOURCE', 'IP_INVALID_SOURCE']);

function packetKey(observation: Lost): string {
  if (observation.kind === 'martian') return `${observation.source} ${observation.destination}`;
  if (martians.has(observation.dropReason)) return `${observation.packet.source} ${observation.packet.destination}`;
  const { source, destination, protocol, sourcePort, destinationPort, icmpType } = observation.packet;
  return [source, destination, protocol, sourcePort, destinationPort ?? icmpType].join(' ');
}

/** Joins what some loggers write in two lines: the packet, then its verdict. */
export function createVerdictLines(): (
  line: Pick<LogLine, 'source' | 'program' | 'host'>,
  part: PacketPart,
) => PacketObservation | PacketPart | Unparsable {
  const waiting = new LRUCache<string, PacketObservation>({ max: verdictsKept });

  /** Returns the packet with its verdict, or the part that still waits for it. */
  return function join({ source, host, program }, observation) {
    const { logger, id, part } = observation;
    const key = JSON.stringify([logger, source, host, program, id]);
    if (typeof part !== 'string') {
      waiting.set(key, part);
      return observation;
    }
    const packet = waiting.get(key);
    waiting.delete(key);
    if (packet !== undefined) return { ...packet, verdict: part };
    if (part === 'accepted') return observation;
    return { kind: 'unparsable', format: logger, reason: 'a packet was dropped, and no line before it says which one' };
  };
}
