import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import type { PacketObservation } from '../model/packet.ts';

/** Two lines of one packet are written within microseconds; times of nodes that are busy are further apart. */
const together: Millis = 1000;
/** Flows whose first line waits for its second. */
const places = 4096;

interface Waiting {
  notice: PacketObservation['notice'];
  /** Packets that were counted, and whose other line did not come yet. */
  packets: number;
  time: Millis;
}

/**
 * Cilium may write two lines of a packet that a policy drops: the verdict, which names the policy, and after it the drop. Either may be
 * switched off, so the first that comes counts, and as many of the other kind as were counted are passed over. In memory only: of a
 * packet whose lines are parted by a restart, both count.
 */
export function createTwinLines(): (observation: PacketObservation, time: Millis) => PacketObservation | undefined {
  const waiting = new LRUCache<string, Waiting>({ max: places });

  /** Returns the packets that are to be counted; undefined if all of them were. */
  return function count(observation, time) {
    const { notice, packet, repeat } = observation;
    if (notice === undefined) return observation;
    const { source, destination, protocol, sourcePort, destinationPort, icmpType } = packet;
    const key = [source, destination, protocol, sourcePort, destinationPort ?? icmpType].join(' ');
    const known = waiting.get(key);
    const isRecent = known !== undefined && Math.abs(time - known.time) <= together;
    if (!isRecent || known.notice === notice) {
      waiting.set(key, { notice, packets: repeat + (isRecent ? known.packets : 0), time });
      return observation;
    }
    const counted = Math.min(known.packets, repeat);
    if (counted === known.packets) waiting.delete(key);
    else known.packets -= counted;
    return counted === repeat ? undefined : { ...observation, repeat: repeat - counted };
  };
}
