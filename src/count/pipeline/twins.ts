/**
 * Recognizes several lines about one packet, so that it counts once. It remembers lines in memory only: if the agent restarts between two
 * lines, both are counted, and a verdict without its packet is unparsable.
 */
import { LRUCache } from 'lru-cache';
import type { Finding } from '../../base/model/finding.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { Martian, PacketPart, Unparsable } from '../../base/model/observation.ts';
import { kernelDrop, type PacketObservation } from '../../base/model/packet.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import { generateNameOf } from '../../explain/resolving/resolving.ts';
import type { FlowMeaning } from './meaning.ts';

/** The most flows that are remembered until their other line comes. */
const flowsKept = 4096;
/** The most packets that wait for their verdicts, as many as in the kernel's queue. */
const verdictsKept = 1024;
/** The longest time between two lines of one packet. Cilium writes both within microseconds, but a busy node may stamp them late. */
const longestPause: Millis = 1000;
/** How long logged packets are remembered, because Calico reports flows at the end of an interval, by default every five minutes. */
const longestInterval: Millis = 600_000;

const flowLogger = 'calico-flow';

/** Findings are asked for only where they are compared. */
type WithFindings = Pick<FlowMeaning, 'findings'>;

export interface FlowTwins {
  note(meaning: WithFindings, packets: number, time: Millis): void;
  uncounted(lost: { observation: Pick<Lost, 'logger'>; meaning: WithFindings }, packets: number, time: Millis): number;
}

/**
 * Calico may report a packet twice: by a LOG line at once, and in a flow at the end of an interval. So the packets that lines have shown are
 * subtracted from the flow. The rest are packets that a rate limit kept out of the log. Flows have no addresses, so the peer is not compared.
 * A connection that failed has counted as one packet of the flow, its first. So the flow counts the repeats of that packet.
 */
export function createFlowTwins(hasFlows = false): FlowTwins {
  const logged = new RecentValues<{ packets: number; time: Millis }>(flowsKept);

  return {
    note(meaning: WithFindings, packets: number, time: Millis): void {
      if (!hasFlows) return;
      for (const finding of meaning.findings) {
        const key = keyOf(finding);
        if (key === undefined || isFlow(finding)) continue;
        const known = logged.get(key);
        logged.set(key, { packets: packets + (known?.packets ?? 0), time });
      }
    },
    uncounted({ observation: { logger }, meaning }, packets: number, time: Millis): number {
      const [finding] = logger === flowLogger ? meaning.findings : [];
      if (finding === undefined) return packets;
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
  return details.kind === 'flow' && details.logger === flowLogger;
}

/** Returns a key with the workload of the end whose policies decided, because a flow does not name the Pod. */
function keyOf({ regarding, details, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || details.enforcer !== 'network-policy') return undefined;
  const { direction, refusedBy, protocol, port } = details;
  if (refusedBy !== undefined && (refusedBy === 'receiver') !== (direction === 'receiving')) return undefined;
  return [regarding.namespace, generateNameOf(regarding.name), node, direction, protocol, port].join('|');
}

type Lost = PacketObservation | Martian;

/**
 * A dropped packet may have two lines: the verdict, with the policy or the prefix of the rule, and the drop itself, from Cilium or from the
 * kernel. Either may be missing, so the line that comes first is counted, and a line of the other kind is skipped.
 */
export function createTwinLines(): (observation: Lost, time: Millis) => Lost | undefined {
  /** `packets`: how many were counted, and have no other line yet. */
  const waiting = new LRUCache<string, { notice: PacketObservation['notice']; packets: number; time: Millis }>({
    max: flowsKept,
  });
  const logged = new RecentValues<{ observation: PacketObservation; time: Millis }>(flowsKept);

  return function count(observation, time) {
    const uncounted = withoutCounted(observation, time);
    return uncounted?.kind === 'packet' ? asLogged(uncounted, time) : uncounted;
  };

  /** Adds the rule and the devices from the last LOG line of the flow to a drop that the kernel reports. */
  function asLogged(observation: PacketObservation, time: Millis): PacketObservation {
    if (observation.logger !== kernelDrop || observation.dropReason !== undefined) return observation;
    const { packet, notice } = observation;
    const last = logged.get(flowKey(observation));
    if (last === undefined || Math.abs(time - last.time) > longestInterval) return observation;
    return { ...last.observation, packet, notice, repeat: 1 };
  }

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

/** The key contains the device, because the Pod behind it is the sender, whatever the source address is. */
function flowKey({ inInterface, packet }: PacketObservation): string {
  const { source, destination, protocol, destinationPort, icmpType } = packet;
  return [inInterface, source, destination, protocol, destinationPort ?? icmpType].join(' ');
}

/** Reasons that the kernel's log calls martians. It names no ports for them. */
const martians = new Set<string | undefined>(['IP_LOCAL_SOURCE', 'IP_INVALID_SOURCE']);

function packetKey(observation: Lost): string {
  if (observation.kind === 'martian') return `${observation.source} ${observation.destination}`;
  if (martians.has(observation.dropReason)) return `${observation.packet.source} ${observation.packet.destination}`;
  const { source, destination, protocol, sourcePort, destinationPort, icmpType } = observation.packet;
  return [source, destination, protocol, sourcePort, destinationPort ?? icmpType].join(' ');
}

/** Joins the two lines that some loggers write for a packet: its content, then its verdict. */
export function createVerdictLines(): (
  line: Pick<LogLine, 'source' | 'program' | 'host'>,
  part: PacketPart,
) => PacketObservation | PacketPart | Unparsable {
  const waiting = new LRUCache<string, PacketObservation>({ max: verdictsKept });

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
