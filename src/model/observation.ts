/** The meaning of one log line: everything that parsing returns. Plain data: it can be written as JSON and read back unchanged. */
import type { kernelDrop, PacketObservation, Verdict } from './packet.ts';
import type { ProgramRecord } from './program-record.ts';

/** `nf_conntrack: table full, dropping packet`. */
export interface ConntrackFull {
  kind: 'conntrack-full';
  /** Inode of the network namespace whose table it is; newer kernels name it when it is not the initial one. */
  netns: number | undefined;
}

/** The table of the host has little room left, as /proc shows; no line says so. */
export interface ConntrackHigh {
  kind: 'conntrack-high';
  count: number;
  max: number;
}

/** The ARP (IPv4) or neighbour discovery (IPv6) table is full. */
export interface NeighbourOverflow {
  kind: 'neighbour-overflow';
  family: 'IPv4' | 'IPv6' | undefined;
}

/** A report on a table of the kernel. */
export type TableReport = ConntrackFull | ConntrackHigh | NeighbourOverflow;

/** A packet dropped because its source (or destination) cannot be where it came from: reverse-path filter. */
export interface Martian {
  kind: 'martian';
  /** The kernel's record of the drop; undefined: a line of its log. */
  logger?: typeof kernelDrop;
  /** The same as in `PacketObservation`. */
  notice?: 'drop' | 'verdict' | undefined;
  /** The address of the two that the kernel calls impossible. */
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
  /** The number; undefined if only the fact is known. */
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

/** One of the lines of a packet that the logger writes in several (pipeline/twins.ts). */
export interface PacketPart {
  kind: 'packet-part';
  /** The same as in `PacketObservation`. */
  logger: string;
  /** The logger's number of the packet. It counts from 1 again when it restarts. */
  id: string;
  /** The packet, whose verdict stands in a later line; or that verdict. */
  part: PacketObservation | Verdict;
}

export type Observation =
  | PacketObservation
  | PacketPart
  | ConntrackFull
  | NeighbourOverflow
  | Martian
  | Suppressed
  | Unparsable
  | ProgramRecord;
