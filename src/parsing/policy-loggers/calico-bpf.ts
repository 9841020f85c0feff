import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation } from '../../model/packet.ts';
import { observePacket } from './record.ts';

/**
 * `action: Log` of Calico's eBPF data plane (felix/bpf-gpl/skb.h), with the verdict that all policies together came to:
 *
 *     cali8d1e69e5f89-I: policy DENIED  proto 6 src 10.65.0.2:43553 dest 10.65.0.3:8055
 *
 * The device has the direction of the policies behind it: I ingress, E egress, X ingress of the host before conntrack. IPv6 addresses are
 * written out, without brackets.
 */
const line =
  /^(\S{1,15})-([IEX]): policy (ALLOWED|DENIED) {1,2}proto (\d{1,3}) src ([\da-f:.]{2,39}):(\d{1,5}) dest ([\da-f:.]{2,39}):(\d{1,5})$/;

export function parseCalicoBpf(text: string): PacketObservation | Unparsable | undefined {
  const [found, device = '', direction, verdict, protocol, source, sourcePort, destination, destinationPort] =
    line.exec(text) ?? [];
  if (found === undefined) return undefined;
  // A Pod's device is the node's end of it: what goes to the Pod leaves the node there.
  const isIn = device.startsWith('cali') === (direction === 'E');
  return observePacket({
    logger: 'calico-bpf',
    verdict: verdict === 'DENIED' ? 'dropped' : 'accepted',
    policySide: direction === 'E' ? 'sender' : 'receiver',
    inInterface: isIn ? device : '',
    outInterface: isIn ? '' : device,
    source,
    sourcePort,
    destination,
    destinationPort,
    protocol,
  });
}
