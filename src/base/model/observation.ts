/** The result of parsing one log line. Plain data: it can be written as JSON and read back unchanged. */
import type { Millis } from './log-line.ts';
import type { kernelDrop, PacketObservation, Verdict } from './packet.ts';
import type { ProgramRecord } from './program-record.ts';

/** `nf_conntrack: table full, dropping packet`. */
export interface ConntrackFull {
  kind: 'conntrack-full';
  /** The inode of the network namespace whose table is full. Newer kernels print it if it is not the initial namespace. */
  netns: number | undefined;
}

/** The host's table has little room left. /proc shows this; no line reports it. */
export interface ConntrackHigh {
  kind: 'conntrack-high';
  count: number;
  max: number;
}

/** The table of ARP (IPv4) or neighbour discovery (IPv6) is full. */
export interface NeighbourOverflow {
  kind: 'neighbour-overflow';
  family: 'IPv4' | 'IPv6' | undefined;
}

/** A connection to a Service that IPVS refused, because it knows no Pod to send it to. The kernel limits how often it says so. */
export interface IpvsNoDestination {
  kind: 'ipvs-no-destination';
  family: 'IPv4' | 'IPv6' | undefined;
  /** `10.96.0.10:53/UDP`, or the mark by which IPVS knows the Service: `FWM 7`. */
  service: string;
  isOverloaded: boolean;
}

/** A report of the kernel's log about one of its tables: it is full, or lacks an entry. */
export type KernelReport = ConntrackFull | NeighbourOverflow | IpvsNoDestination;

export type TableReport = KernelReport | ConntrackHigh;

/** A packet that the reverse-path filter dropped, because its source (or destination) cannot be behind that interface. */
export interface Martian {
  kind: 'martian';
  /** Set if the kernel's own probe reported the drop; undefined for a line of its log. */
  logger?: typeof kernelDrop;
  /** See `PacketObservation`. */
  notice?: 'drop' | 'verdict' | undefined;
  /** Which of the two addresses the kernel calls impossible. */
  impossible: 'source' | 'destination';
  source: string;
  destination: string;
  device: string;
}

/** Log records that were lost or never written. Counts near them are lower bounds. */
export interface Suppressed {
  kind: 'suppressed';
  /** The reporter: a kernel function, `journald`, `felix`, `hubble`, or the name of the source that lost them. */
  by: string;
  /** How many records; undefined if only the loss is known. */
  count: number | undefined;
  /** Which lines may be missing. `kernel-warnings`: only rate-limited ones (conntrack, neighbour, martian); `connections`: failed ones. */
  affects: 'everything' | 'kernel-warnings' | 'connections' | 'felix' | 'nothing';
  /** The time since which they may be missing, if it is long before the loss was noticed. */
  since?: Millis | undefined;
}

/** A line of a known format that cannot be read. */
export interface Unparsable {
  kind: 'unparsable';
  format: string;
  /** The reason for a person: `SRC=192.XXX.XX.X is not an address`. */
  reason: string;
}

/** One line about a packet, if the logger writes several (pipeline/twins.ts). */
export interface PacketPart {
  kind: 'packet-part';
  logger: string;
  /** The logger's number for the packet. It begins again at 1 when the logger restarts. */
  id: string;
  /** The packet, if its verdict is in a later line; or that verdict. */
  part: PacketObservation | Verdict;
}

/** A connection of a Pod of this node that failed without an answer. Many have other causes than a drop (count/pipeline/failures.ts). */
export interface ConnectFailure {
  kind: 'connect-failure';
  /** The uid of the Pod in whose cgroup the socket was opened. */
  pod: string;
  /** The first packet, as if it had been dropped. */
  connection: PacketObservation;
}

export type Observation =
  | ConnectFailure
  | PacketObservation
  | PacketPart
  | KernelReport
  | Martian
  | Suppressed
  | Unparsable
  | ProgramRecord;
