import { LRUCache } from 'lru-cache';
import type { LogLine } from '../model/log-line.ts';
import type { PacketPart, Unparsable } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';

/** Packets that wait for their verdict. The queue of the kernel holds 1,024. */
const places = 1024;

/**
 * Joins what some loggers write in two lines: the packet, then its verdict. In memory only: of a packet whose lines are parted by a restart of
 * the agent, the verdict is counted as unparsable.
 */
export function createVerdictLines(): (
  line: Pick<LogLine, 'source' | 'program' | 'host'>,
  part: PacketPart,
) => PacketObservation | PacketPart | Unparsable {
  const waiting = new LRUCache<string, PacketObservation>({ max: places });

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
    const reason = 'a packet was dropped, and no line before it says which one';
    return { kind: 'unparsable', format: logger, reason };
  };
}
