/**
 * The types that flow through the pipeline. This file imports nothing and knows no Kubernetes client:
 *
 *     LogLine → Observation → Finding → Series → (publishing)
 *
 * Everything here is plain data: it can be written to disk as JSON and read back unchanged.
 */

/** Milliseconds since the Unix epoch; may have a fraction. */
export type Millis = number;

/** One logical record of a log, with the envelope (time stamp, host name, JSON, …) taken off. */
export interface LogLine {
  /** What was read: a path, or `-` for standard input. */
  source: string;
  /** 1-based number of the (first) physical line. */
  line: number;
  /** The message proper: for a netfilter line, the LOG prefix and all that follows. */
  text: string;
  time: Millis;
  /** False when the envelope held no wall-clock time and `time` was inferred. */
  timeIsExact: boolean;
  /** The host name in the envelope, if it had one. */
  host: string | undefined;
  /** The program that a syslog says has written it: `kube-proxy`. */
  program?: string | undefined;
}

/** What the rule that logged the packet did, or went on to do, with it, as far as its prefix tells. */
export type Verdict = (typeof verdicts)[number];

export const verdicts = ['dropped', 'rejected', 'logged', 'accepted'] as const;

/** What kind of thing wrote the rule: it decides where to look for the cause. */
export type Enforcer = 'network-policy' | 'host-firewall' | 'unknown';

/** TCP flags as bits of `Packet.tcpFlags`, as in the TCP header (RFC 9293, 3.1). */
export const TcpFlag = { FIN: 1, SYN: 2, RST: 4, PSH: 8, ACK: 16, URG: 32, ECE: 64, CWR: 128 } as const;

/** The headers of one IP packet, as printed by the kernel. A field that was not printed is undefined. */
export interface Packet {
  /** RFC 5952 text for IPv6, dotted decimal for IPv4. */
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
  /** `NetworkPolicy`, `GlobalNetworkPolicy`, …; undefined when the prefix does not tell. */
  kind: string | undefined;
  namespace: string | undefined;
  name: string;
  tier: string | undefined;
}

/** A netfilter LOG line, or another policy logger's record of one packet. */
export interface PacketObservation {
  kind: 'packet';
  /** Which logger wrote it: `netfilter`, `ulogd`, `aws-network-policy-agent`, `ovn-acl`, `antrea`. */
  logger: string;
  verdict: Verdict;
  /** The prefix as logged, white space around it removed; may be empty. */
  prefix: string;
  /** Name of the row of the prefix table that decided the verdict. */
  prefixRule: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
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
  /** For an ICMP error: the packet it is about. Its source is who suffers. */
  inner: Packet | undefined;
  /** Next-hop MTU of an ICMP "fragmentation needed" or ICMPv6 "packet too big". */
  mtu: number | undefined;
  mark: number | undefined;
  uid: number | undefined;
  /** The logger says it stands for this many packets (Antrea joins repeats). */
  repeat: number;
}

/** `nf_conntrack: table full, dropping packet`. */
export interface ConntrackFull {
  kind: 'conntrack-full';
  /** Inode of the network namespace whose table it is; newer kernels name it when it is not the initial one. */
  netns: number | undefined;
}

/** The ARP (IPv4) or neighbour discovery (IPv6) table is full. */
export interface NeighbourOverflow {
  kind: 'neighbour-overflow';
  family: 'IPv4' | 'IPv6' | undefined;
}

/** A packet dropped because its source (or destination) cannot be where it came from: reverse-path filter. */
export interface Martian {
  kind: 'martian';
  /** Which of the two addresses the kernel calls impossible. */
  impossible: 'source' | 'destination';
  source: string;
  destination: string;
  device: string;
}

/** Log records that were never written or are lost: counts near them are lower bounds. */
export interface Suppressed {
  kind: 'suppressed';
  /** The kernel function, or `journald`, `kmsg` or `felix`. */
  by: string;
  /** How many; undefined where only the fact is known. */
  count: number | undefined;
  /** Whether packet lines may be among them, or only rate-limited kernel warnings (conntrack, neighbour, martian), or lines of felix. */
  affects: 'everything' | 'kernel-warnings' | 'felix' | 'nothing';
}

/** A line that is one of ours but cannot be read. */
export interface Unparsable {
  kind: 'unparsable';
  /** Name of the parser that claimed the line. */
  format: string;
  /** Why, for a person: `SRC=192.XXX.XX.X is not an address`. */
  reason: string;
}

/** Who wrote a record into the log of a container. `felix`, `confd` and `bird` are the parts of calico-node. */
export type Program = 'kube-proxy' | 'felix' | 'confd' | 'bird' | 'calico-node' | 'unknown';

/** A record that a program wrote about its own work: what it says, and nothing about what that means. */
export interface ProgramRecord {
  kind: 'program-record';
  program: Program;
  severity: 'debug' | 'info' | 'warning' | 'error' | 'fatal';
  /** Source file without line number, `proxier.go`, `felix/table.go`; '' where the record names none. */
  caller: string;
  /** Without quotes and fields: `Failed to execute iptables-restore`. */
  message: string;
  /** `ipFamily`, `retryingTime`, `error`, …: decoded values by key, the first 4 KiB of each. Rule dumps (`rules`) are left out. */
  fields: Readonly<Record<string, string>>;
  /** Everything that is error text, lines kept apart by `\n`: `err`, `error`, `errorOutput`, `stderr`; '' if there is none. */
  error: string;
}

export type Observation =
  | PacketObservation
  | ConntrackFull
  | NeighbourOverflow
  | Martian
  | Suppressed
  | Unparsable
  | ProgramRecord;

/** Who or what an incident is of: a program, or the kernel. */
export type Failing = Program | 'kernel';

/** What one line says of an incident that may be there. */
export type Sign = FailureSign | SyncSign;

export interface FailureSign {
  kind: 'failure';
  /** `KN102`: a row of the catalogue of causes. */
  code: string;
  failing: Failing;
  /** `IPv4`, `IPv6`, or '' where the line does not tell. */
  family: string;
  /** What varies from line to line within one cause: a chain, a kernel module, a BGP peer, a network namespace. */
  subject: string | undefined;
  /** The telling line of the text, for a person; at most 200 characters. */
  quote: string;
  /** Of iptables, as far as the text tells: `iptables-restore v1.8.8 (legacy)`. */
  backend: 'legacy' | 'nf_tables' | undefined;
}

/**
 * How a program's attempt to bring its rules up to date ended. kube-proxy logs `SyncProxyRules complete` after a failed
 * attempt too, right after `Sync failed`.
 */
export interface SyncSign {
  kind: 'sync-failed' | 'sync-complete';
  failing: Failing;
  family: string;
  /** When it will be tried again; undefined where the line does not tell. */
  retry: Millis | undefined;
}

/** What an Event needs to know of an API object. `uid` is empty when the object is known by name only. */
export interface ObjectRef {
  apiVersion: string;
  kind: string;
  namespace: string | undefined;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
}

/** The controller a Pod belongs to, as its owner thinks of it: a Deployment rather than its ReplicaSet. */
export interface Workload {
  kind: string;
  namespace: string;
  name: string;
}

/** How an address was given to an object; the first that applies wins. */
export type Evidence = 'interface' | 'pod-address' | 'node-address' | 'service-address' | 'address-range' | 'none';

export type AddressRange = 'multicast' | 'broadcast' | 'link-local' | 'loopback' | 'unspecified' | 'private' | 'public';

/** Who an address was at the time of the packet. */
export interface Endpoint {
  kind: 'pod' | 'node' | 'service' | 'external' | 'unknown';
  address: string;
  /** Equal for all that count as one peer: the workload of a Pod, else the object, else the address. */
  identity: string;
  evidence: Evidence;
  object: ObjectRef | undefined;
  workload: Workload | undefined;
  /** Where the address lies, whoever has it. */
  range: AddressRange;
  /** Node of a Pod. */
  node: string | undefined;
  /** A part this endpoint plays that explains much: the cluster's DNS, its API server, the cloud's metadata service. */
  role: 'dns' | 'api-server' | 'metadata' | undefined;
  /** For a person, where `object` is undefined: `outside the cluster`, `Pod range of node-b, no Pod has it`. */
  note: string | undefined;
}

/** The two ends of a packet and, for an ICMP error that goes back to the sender of the packet it is about, of that packet. */
export interface Ends {
  source: Endpoint;
  destination: Endpoint;
  inner: { source: Endpoint; destination: Endpoint } | undefined;
  /** Whether the packet came from an interface named as CNI plugins name a Pod's, and whether it was to leave by one. */
  fromPodInterface: boolean;
  toPodInterface: boolean;
}

/** Which way the packet went, seen from the object the Finding regards. */
export type Direction = 'receiving' | 'sending';

/** What happened to a flow, without what varies from packet to packet. */
export interface FlowStory {
  kind: 'flow';
  direction: Direction;
  peer: Endpoint;
  /** Address of the regarding object in this flow, and whether it is one of its own. */
  ownAddress: string;
  ownAddressIsForeign: boolean;
  protocol: string;
  /** The port of the service side; undefined for protocols without ports and for later fragments. */
  port: number | undefined;
  /** True when the packet is an answer: then `port` is the sender's. */
  reply: boolean;
  laterFragment: boolean;
  icmpType: number | undefined;
  icmpCode: number | undefined;
  /** For an ICMP error, who sent it, what it said, and what it was about. */
  error: { reporter: Endpoint; protocol: string; type: number; code: number; mtu: number | undefined } | undefined;
  verdict: 'dropped' | 'rejected';
  prefix: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
  /** For a network policy: whose rules refused it, as far as the interfaces tell. */
  refusedBy: 'sender' | 'receiver' | undefined;
  /** `eth0 → cali1234`, as far as known. */
  path: string;
  martian: boolean;
}

/** What is left of a Pod's findings when it has too many distinct ones: only how many, from where and on which ports. */
export interface OverflowStory {
  kind: 'overflow';
  example: FlowStory;
}

/** A Service and the ports of it whose chains were named. */
export interface NamedService {
  object: ObjectRef;
  /** `https`, or the number where it has no name. */
  ports: string[];
  /** `shop/db-0 on node-b`: Pods behind it, the first few. */
  backends: string[];
  moreBackends: number;
  /** It had been deleted when its chain was named. */
  deleted: boolean;
}

/** What FelixConfiguration says for one node: `node.<name>` field by field over `default`. Undefined: not set, or of no type that is known. */
export interface FelixSettings {
  bpfEnabled: boolean | undefined;
  bpfKubeProxyIptablesCleanupEnabled: boolean | undefined;
  logSeverityScreen: string | undefined;
  iptablesBackend: string | undefined;
  nftablesMode: string | undefined;
  /** Names of the objects that `bpfEnabled` and `bpfKubeProxyIptablesCleanupEnabled` are from. */
  bpfFrom: string | undefined;
  cleanupFrom: string | undefined;
}

/** What was found out around an incident, beside its lines. Each part is undefined where nobody could look. */
export interface NodeFacts {
  felix:
    | { kind: 'settings'; settings: FelixSettings }
    /** No Calico, or none that is configured through the API. */
    | { kind: 'absent' }
    | { kind: 'unreadable'; reason: 'forbidden' | 'failed' }
    | undefined;
  /** Whether felix can use eBPF here, as it has logged or as the kernel tells; else it goes on without, whatever its settings say. */
  ebpf?: boolean | undefined;
  /** Whether a Pod of kube-proxy runs on the node. */
  kubeProxyHere: boolean | undefined;
  conntrack: { count: number | undefined; max: number | undefined } | undefined;
  /** Who holds most of the connection tracking table, most first: `shop/crawler-0 (10.244.0.7)`. */
  talkers: readonly { name: string; connections: number }[];
  /** The backends of iptables that programs of this node were seen to use in the last hour. */
  backends: Readonly<Partial<Record<Failing, 'legacy' | 'nf_tables'>>>;
  /** uid of the Pod whose network namespace alone it is about; null: of a namespace, but nobody knows whose. */
  namespacePod?: string | null | undefined;
  /** When the host's firewall began to drop, if it did so near the beginning of the incident. */
  firewallDropsSince: Millis | undefined;
}

/** Something on the node is broken for longer than a moment. */
export interface IncidentStory {
  kind: 'incident';
  /** `full`: on the culprit, the Node and Services; `pointer`: short, on a Pod that suffers. */
  role: 'full' | 'pointer';
  phase: 'open' | 'over';
  /** As the lines say, and as the facts explain it: a row of the catalogue each. */
  code: string;
  diagnosis: string;
  failing: Failing;
  /** `kube-system/kube-proxy-x7k2p`; undefined for the kernel. */
  culprit: string | undefined;
  since: Millis;
  /** Last failure. */
  last: Millis;
  failures: number;
  /** How it was seen to be over. */
  endedBy: 'success' | 'silence' | undefined;
  ended: Millis | undefined;
  families: string[];
  subjects: string[];
  moreSubjects: number;
  restarts: number;
  quote: string;
  services: NamedService[];
  moreServices: number;
  facts: NodeFacts;
  /** Pods that suffer: how many there are, and the first few by name, those that are unready or restarting first. */
  affected: { count: number; names: string[] };
}

export type Story = FlowStory | OverflowStory | IncidentStory;

/** An Observation with its Endpoints and its meaning, ready to be counted. */
export interface Finding {
  /** Equal for all packets that are one and the same problem of one object on one node. */
  identity: string;
  /** `PacketDrop`, `ConntrackTableFull`, …: the Event's reason. */
  reason: string;
  type: 'Warning' | 'Normal';
  regarding: ObjectRef;
  related: ObjectRef | undefined;
  /** Node the line was logged on; empty when unknown. */
  node: string;
  /** The Event is one for all nodes: whoever tells first tells for all. */
  shared?: boolean | undefined;
  story: Story;
}

/** The first few of something, and how many there were. */
export interface Tally {
  /** Distinct values in order of appearance, at most `tallyLimit`. */
  seen: Set<string>;
  /** Sightings of values past the limit, not known to be distinct. */
  past: number;
}

/** What the API server has been told of a series. */
export interface Published {
  /** Of the series' own count. */
  count: number;
  writes: number;
  /** Time of the last write. */
  at: Millis;
  /** That the count is a lower bound. */
  suppressed: boolean;
  /** It could not be told when it was due: it no longer goes before what is told already. */
  retried?: true | undefined;
  /**
   * What the Event counts beside the series: packets that an earlier run had told of and nobody remembers; negative when
   * the Event was deleted and had to begin anew.
   */
  base: number;
  /** Of the Event, after the last write. */
  resourceVersion: string | undefined;
  /** When the Event's first packet was, where that is not the series' own. */
  first?: Millis | undefined;
  /** What the Event counted when it was found, and until when: as long as ours are not later, they may be the same packets. */
  overlap?: { count: number; until: Millis } | undefined;
}

/** One problem of one object on one node in one window of time, counted. */
export interface Series {
  finding: Finding;
  /** Number of the window; with the finding's identity it makes the name of the Event. */
  window: number;
  /** End of the window. */
  windowEnd: Millis;
  count: number;
  first: Millis;
  last: Millis;
  /** Log lines were lost or suppressed meanwhile: `count` is a lower bound. */
  suppressed: boolean;
  /** Names of the peer's Pods; in an overflow, identities of peers. */
  peers: Tally;
  /** Only for an overflow: `5432/TCP` and the like. */
  ports: Tally;
  published: Published;
  /** When the next write is due; Infinity when there is nothing new to say. */
  due: Millis;
}
