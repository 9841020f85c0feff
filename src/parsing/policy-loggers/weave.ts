import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation } from '../../model/packet.ts';
import { observePacket } from './record.ts';

/**
 * Weave Net's network policy controller (weave npc/metrics/metrics.go), the first packet of each connection, in two spellings:
 *
 *     WARN: 2021/05/12 02:47:10.232988 TCP connection from 10.32.0.3:33702 to 10.40.0.1:80 blocked by Weave NPC.
 *     time="2016-10-26T11:51:02Z" level=warning msg="UDP connection from 10.32.0.7:56648 to 10.32.0.11:80 blocked by Weave NPC."
 */
const sentence =
  /^(?:WARN: \d{4}\/\d\d\/\d\d [\d:.]{8,15} |time="[^"]{1,40}" level=warning msg=")?(TCP|UDP) connection from ([\d.]{1,15}):(\d{1,5}) to ([\d.]{1,15}):(\d{1,5}) blocked by Weave NPC\./;

export function parseWeave(text: string): PacketObservation | Unparsable | undefined {
  const [found, protocol, source, sourcePort, destination, destinationPort] = sentence.exec(text) ?? [];
  if (found === undefined) return undefined;
  return observePacket({
    logger: 'weave-npc',
    verdict: 'dropped',
    protocol,
    source,
    sourcePort,
    destination,
    destinationPort,
  });
}
