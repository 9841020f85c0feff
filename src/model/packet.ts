/** A packet as a logger printed it, and what its LOG prefix says. Plain data: it can be written as JSON and read back unchanged. */

/** The fate of the packet by the rule that logged it, as far as its prefix shows. */
export type Verdict = (typeof verdicts)[number];

export const verdicts = ['dropped', 'rejected', 'logged', 'accepted'] as const;

/** The kind of program that wrote the rule: it decides where to look for the cause. */
export type Enforcer = 'network-policy' | 'host-firewall' | 'unknown';

/** TCP flags as bits of `Packet.tcpFlags`, as in the TCP header (RFC 9293, 3.1). */
export const TcpFlag = { FIN: 1, SYN: 2, RST: 4, PSH: 8, ACK: 16, URG: 32, ECE: 64, CWR: 128 } as const;

/** The tier of the ClusterNetworkPolicy that decided, where the logger says that one did, as its `spec.tier` has it. */
export type ClusterTier = 'Admin' | 'Baseline';

/** The headers of one IP packet, as printed by the kernel. A field that was not printed is undefined. */
export interface Packet {
  /** RFC 5952 text for IPv6, dotted decimal for IPv4; a name where the logger has no addresses: `shop/web-*`, `public network`. */
  source: string;
  destination: string;
  /** IANA keyword (`TCP`, `ICMPv6`, `SCTP`, `VRRP`, …), `ARP`, or the decimal number when IANA has no short keyword. */
  protocol: string;
  sourcePort: number | undefined;
  destinationPort: number | undefined;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** Bits of `TcpFlag`; undefined when the line shows no TCP header. */
  tcpFlags: number | undefined;
  /** Total length in bytes (`LEN=`, the first one). */
  length: number | undefined;
  /** `TTL=` or `HOPLIMIT=`. */
  ttl: number | undefined;
  /** True for every fragment but the first: those have no transport header, so no ports. */
  laterFragment: boolean;
  /** True where the kernel wrote INCOMPLETE or TRUNCATED, or stopped before PROTO=. */
  incomplete: boolean;
}

/** A policy or rule as named by a LOG prefix. */
export interface PolicyName {
  /** `NetworkPolicy`, `GlobalNetworkPolicy`, …; undefined when the prefix does not name one. */
  kind: string | undefined;
  namespace: string | undefined;
  name: string;
  tier: string | undefined;
}

/** A netfilter LOG line, or another policy logger's record of one packet. */
export interface PacketObservation {
  kind: 'packet';
  /** The logger that wrote it: the name of its row in `parsing/formats.ts`. */
  logger: string;
  verdict: Verdict;
  /** The prefix as logged, white space around it removed; may be empty. */
  prefix: string;
  /** Name of the row of the prefix table that decided the verdict. */
  prefixRule: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
  /** The end whose policies decided, where the logger says so. */
  policySide?: 'sender' | 'receiver' | undefined;
  clusterTier?: ClusterTier | undefined;
  /** The Pods that the logger names as its ends, `shop/web-0`: compared with who has the addresses, and believed as names only. */
  sourceName?: string | undefined;
  destinationName?: string | undefined;
  /** The name by which the sender has asked for the destination, where the logger has seen the look-up: `pay.example.com`. */
  destinationHost?: string | undefined;
  /** The data plane's own name for why it dropped the packet, where that is no network policy: `CT_MAP_INSERTION_FAILED`. */
  dropReason?: string | undefined;
  /** Which of the two lines this is that the logger may write of one packet (pipeline/twins.ts). */
  notice?: 'drop' | 'verdict' | undefined;
  /** `IN=`; empty for packets made on the node itself. */
  inInterface: string;
  /** `OUT=`; empty for packets to the node itself. */
  outInterface: string;
  /** Bridge ports, when they differ from the interfaces. */
  physIn: string | undefined;
  physOut: string | undefined;
  /** Destination MAC, lower case, `xx:xx:xx:xx:xx:xx`. */
  destinationMac: string | undefined;
  packet: Packet;
  /** The packet that an ICMP error is about. The source of that packet is the affected end. */
  inner: Packet | undefined;
  /** Next-hop MTU of an ICMP "fragmentation needed" or ICMPv6 "packet too big". */
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  /** The logger says it stands for this many packets (Antrea joins repeats). */
  repeat: number;
}

/** The logger of packets that the kernel itself tells of (src/sources/tracefs/kernel-drops.ts), which knows one device of them and no rule. */
export const kernelDrop = 'kernel-drop';

/** IANA's keywords (https://www.iana.org/assignments/protocol-numbers) of what LOG prints as a number, and of what it names. */
const keywords: Record<number, string> = {
  1: 'ICMP',
  2: 'IGMP',
  4: 'IPIP',
  6: 'TCP',
  17: 'UDP',
  33: 'DCCP',
  41: 'IPv6',
  46: 'RSVP',
  47: 'GRE',
  50: 'ESP',
  51: 'AH',
  58: 'ICMPv6',
  88: 'EIGRP',
  89: 'OSPF',
  103: 'PIM',
  108: 'IPComp',
  112: 'VRRP',
  115: 'L2TP',
  132: 'SCTP',
  136: 'UDPLITE',
};

/** `6` → `TCP`, `TCP` → `TCP`, `200` → `200`; undefined for what is neither a number up to 255 nor a keyword. */
export function protocolName(text: string): string | undefined {
  // These two are by far the most common, and cheaper to compare than to look up.
  if (text === 'TCP' || text === 'UDP' || named.has(text)) return text;
  if (/^\d{1,10}$/.test(text)) {
    const number = Number(text);
    return number > 255 ? undefined : (keywords[number] ?? String(number));
  }
  return /^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text) ? text : undefined;
}

const named = new Set(['TCP', 'UDP', 'ICMP', 'ICMPv6', 'UDPLITE', 'AH', 'ESP', 'SCTP']);
