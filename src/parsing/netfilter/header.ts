import type { Packet } from '../../model/packet.ts';
import type { ParseProblem } from './values.ts';

/** A header as read, before it is known to be whole. A number of -1 was printed but is none. */
export interface Header {
  inInterface: string;
  outInterface: string | undefined;
  physIn: string | undefined;
  physOut: string | undefined;
  /** First octets of `MAC=` and of `MACDST=`; '' where they are none. */
  mac: string | undefined;
  macDestination: string | undefined;
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  outer: Packet;
  inner: Packet | undefined;
  /** The line has `ARP HTYPE=`, so it has other fields than an IP header: see `readArp`. */
  arp: boolean;
  /** Before `SRC=` stand words that no rule prints. */
  hasForeignWords: boolean;
  problem: ParseProblem;
  innerProblem: ParseProblem;
  innerIsClosed: boolean;
  /** The line ends within the addresses of the inner packet. */
  innerIsCut: boolean;
  /** `FRAG:` of the packet has been read. */
  hasFragment: boolean;
  innerHasFragment: boolean;
}

/** '' in an address or the protocol means: not read yet. */
export function newPacket(): Packet {
  return {
    source: '',
    destination: '',
    protocol: '',
    sourcePort: undefined,
    destinationPort: undefined,
    icmpType: undefined,
    icmpCode: undefined,
    tcpFlags: undefined,
    length: undefined,
    ttl: undefined,
    laterFragment: false,
    incomplete: false,
  };
}

export function newHeader(): Header {
  return {
    inInterface: '',
    outInterface: undefined,
    physIn: undefined,
    physOut: undefined,
    mac: undefined,
    macDestination: undefined,
    mtu: undefined,
    mark: undefined,
    uid: undefined,
    outer: newPacket(),
    inner: undefined,
    arp: false,
    hasForeignWords: false,
    problem: { text: undefined },
    innerProblem: { text: undefined },
    innerIsClosed: false,
    innerIsCut: false,
    hasFragment: false,
    innerHasFragment: false,
  };
}
