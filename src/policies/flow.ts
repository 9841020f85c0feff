import type { Packet } from '../model/packet.ts';
import type { End, Flow } from './model.ts';

/**
 * The connection that a packet belongs to. `reply`: the packet goes back to who opened it, as a SYN-ACK does, so its ends are
 * swapped; `port` is that of the side that listens.
 */
export function connectionOf(
  { protocol }: Pick<Packet, 'protocol'>,
  ends: { source: End; destination: End },
  { port, reply }: { port: number | undefined; reply: boolean },
): Flow {
  const { source, destination } = ends;
  // What a Pod sends to itself reaches a filter only where a Service sends it back.
  const viaService = source.kind === 'pod' && destination.kind === 'pod' && source.address === destination.address;
  return {
    source: reply ? destination : source,
    destination: reply ? source : destination,
    protocol,
    port,
    viaService,
  };
}
