/** A packet as a logger printed it, and the meaning of its LOG prefix. Plain data: it can be written as JSON and read back unchanged. */

/** What happened to the packet, as far as the LOG prefix shows. */
export type Verdict = (typeof verdicts)[number];

export const verdicts = ['dropped', 'rejected', 'logged', 'accepted'] as const;

/** The kind of program that wrote the rule. It decides where to look for the cause. */
export type Enforcer = 'network-policy' | 'host-firewall' | 'unknown';

/** TCP flags as bits of `Packet.tcpFlags`, as in the TCP header (RFC 9293, 3.1). */
export const TcpFlag = { FIN: 1, SYN: 2, RST: 4, PSH: 8, ACK: 16, URG: 32, ECE: 64, CWR: 128 } as const;

/** The tier (`spec.tier`) of the ClusterNetworkPolicy that decided, if the logger says that one did. */
export type ClusterTier = 'Admin' | 'Baseline';

/** The headers of one IP packet. A field that was not printed is undefined. */
export interface Packet {
  /** RFC 5952 text for IPv6, dotted decimal for IPv4. A name if the logger has no addresses: `shop/web-*`, `public network`. */
  source: string;
  destination: string;
  /** IANA's keyword (`TCP`, `ICMPv6`, `SCTP`, `VRRP`, …), `ARP`, or the decimal number of a rare protocol. */
  protocol: string;
  sourcePort: number | undefined;
  destinationPort: number | undefined;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** Bits of `TcpFlag`; undefined if the line has no TCP header. */
  tcpFlags: number | undefined;
  /** The total length in bytes, from the first `LEN=`. */
  length: number | undefined;
  /** `TTL=` or `HOPLIMIT=`. */
  ttl: number | undefined;
  /** True for every fragment except the first. Such fragments have no transport header, so no ports. */
  laterFragment: boolean;
  /** True if the kernel wrote INCOMPLETE or TRUNCATED, or stopped before PROTO=. */
  incomplete: boolean;
}

/** A policy or a rule, as a LOG prefix names it. */
export interface PolicyName {
  /** `NetworkPolicy`, `GlobalNetworkPolicy`, …; undefined if the prefix does not say. */
  kind: string | undefined;
  namespace: string | undefined;
  name: string;
  tier: string | undefined;
}

/** A netfilter LOG line, or another logger's record of one packet. */
export interface PacketObservation {
  kind: 'packet';
  /** The logger's name, which is its row in `parsing/formats.ts`. */
  logger: string;
  verdict: Verdict;
  /** The LOG prefix for people: trimmed, and without time stamps. It may be empty. */
  prefix: string;
  /** The row of the prefix table that decided the verdict. */
  prefixRule: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
  /** The end whose policies decided, if the logger says so. */
  policySide?: 'sender' | 'receiver' | undefined;
  clusterTier?: ClusterTier | undefined;
  /** The logger says that NetworkPolicies of Kubernetes decided, and policies of other kinds did not. */
  byNetworkPolicies?: true | undefined;
  /** The Pods that the logger names, such as `shop/web-0`. They are compared with the owners of the addresses; trusted as names only. */
  sourceName?: string | undefined;
  destinationName?: string | undefined;
  /** The name by which the sender looked up the destination, if the logger saw the look-up: `pay.example.com`. */
  destinationHost?: string | undefined;
  /** The Service to which the sender has sent it, if the logger knows only that and one of its Pods was chosen: `shop/web`. */
  service?: string | undefined;
  /** The data plane's name for its reason, if that is not a network policy: `CT_MAP_INSERTION_FAILED`. */
  dropReason?: string | undefined;
  /** Which of two lines this is, if the logger writes two about one packet (pipeline/twins.ts). */
  notice?: 'drop' | 'verdict' | undefined;
  /** `IN=`; empty for packets that the node itself sends. */
  inInterface: string;
  /** `OUT=`; empty for packets to the node itself. */
  outInterface: string;
  /** Bridge ports, if they differ from the interfaces. */
  physIn: string | undefined;
  physOut: string | undefined;
  /** The destination's MAC in lower case, `xx:xx:xx:xx:xx:xx`. */
  destinationMac: string | undefined;
  packet: Packet;
  /** The packet that an ICMP error is about. Its source is the affected end. */
  inner: Packet | undefined;
  /** The next hop's MTU in an ICMP "fragmentation needed" or ICMPv6 "packet too big", or of a packet that was too big. */
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  /** How many packets the line stands for, by the logger's own count (Antrea joins repeats). */
  repeat: number;
}

/** The logger of the agent's own probe (src/read/sources/tracefs/kernel-drops.ts). It knows one device of each packet, and no rule. */
export const kernelDrop = 'kernel-drop';

/** The logger of connections that failed without an answer. It knows the sender's socket, and no packets. */
export const connectFailure = 'connect-failure';

/** IANA's keywords (https://www.iana.org/assignments/protocol-numbers) for protocols that LOG prints as a number or as a name. */
const keywords: Record<number, string> = {
  1: 'ICMP',
  2: 'IGMP',
  4: 'IPIP',
  6: 'TCP',
  17: 'UDP',
  33: 'DCCP',
  41: 'IPv6',
  44: 'IPv6-Frag',
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

export const protocolKeywords: readonly string[] = Object.values(keywords);

/** Returns the keyword: `6` → `TCP`, `200` → `200`, and any word as it is; undefined for numbers above 255 and other texts. */
export function protocolName(text: string): string | undefined {
  // Compare these two first, because they are by far the most frequent, and comparing is cheaper than a look-up.
  if (text === 'TCP' || text === 'UDP' || named.has(text)) return text;
  if (/^\d{1,10}$/.test(text)) {
    const number = Number(text);
    return number > 255 ? undefined : (keywords[number] ?? String(number));
  }
  return /^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text) ? text : undefined;
}

const named = new Set(['TCP', 'UDP', 'ICMP', 'ICMPv6', 'UDPLITE', 'AH', 'ESP', 'SCTP']);
