import { isName } from '../../base/platform/address.ts';
import type { Endpoint, Ends } from '../../base/model/endpoint.ts';
import type { LogLine } from '../../base/model/log-line.ts';
import type { Observation, PacketPart } from '../../base/model/observation.ts';
import type { Verdict } from '../../base/model/packet.ts';

/** The most distinct values that are kept, because a hostile log must not fill the memory. */
const keep = 256;

/**
 * Results of connections that failed without an answer. `denied`: counted as drops. `told`: another line reports them. `unproven`: no
 * policy is known to deny them. `foreign`: their source address is not that of their Pod. `overflowed`: there was no room for them.
 */
export const failureResults = ['denied', 'told', 'unproven', 'foreign', 'overflowed'] as const;
export type FailureResult = (typeof failureResults)[number];

/** Totals since the start. */
export interface LineCounts {
  verdicts: Record<Verdict, number>;
  /** Dropped or rejected packets that are noise, such as multicast. */
  noise: number;
  /** Drops without noise, with and without a Pod at an end. */
  withPods: number;
  withoutPods: number;
  /** Addresses inside the cluster's ranges that had no owner at the time, and how often. */
  unresolved: Map<string, number>;
  /** Lines with an interface named like a Pod's, and those of a known Pod. */
  podInterfaces: { seen: number; known: number };
  /** Prefixes of lines that only log, and how often. */
  loggedPrefixes: Map<string, number>;
  unparsable: number;
  /** The count and the first line of each `format: reason`. */
  unparsableReasons: Map<string, { count: number; place: string }>;
  conntrackFull: number;
  neighbourOverflow: number;
  ipvsNoDestination: number;
  martian: number;
  programRecords: number;
  suppressed: number;
  /** Lines in a format that their writer may not use, such as a packet in the kernel's format from sshd. */
  notKernel: number;
  nodeUnknown: number;
  failures: Record<FailureResult, number>;
}

export interface Statistics extends LineCounts {
  /** Counts a line that is not part of a packet. `lines`: the number of equal lines. */
  observed: (line: LogLine, observation: Exclude<Observation, PacketPart>, lines?: number) => void;
  /** Counts the ends of a packet once they are known. `weight`: packets, of so many alike lines. */
  resolved: (ends: Ends, noise: boolean, weight: number, lines?: number) => void;
}

/** `onLost`: called for lost packets, except noise. */
export function createStatistics(onLost?: (ends: Ends, weight: number) => void): Statistics {
  const statistics: Statistics = { ...noCounts(), observed, resolved };
  return statistics;

  function observed(line: LogLine, observation: Exclude<Observation, PacketPart>, lines = 1): void {
    switch (observation.kind) {
      case 'packet':
        statistics.verdicts[observation.verdict] += observation.repeat * lines;
        if (observation.verdict === 'logged') bump(statistics.loggedPrefixes, observation.prefix, lines);
        return;
      case 'unparsable': {
        statistics.unparsable++;
        const key = `${observation.format}: ${observation.reason}`;
        const known = statistics.unparsableReasons.get(key);
        if (known) known.count++;
        else if (statistics.unparsableReasons.size < keep)
          statistics.unparsableReasons.set(key, { count: 1, place: `${line.source}:${line.line}` });
        return;
      }
      case 'conntrack-full':
        statistics.conntrackFull++;
        return;
      case 'neighbour-overflow':
        statistics.neighbourOverflow++;
        return;
      case 'ipvs-no-destination':
        statistics.ipvsNoDestination++;
        return;
      case 'martian':
        statistics.martian++;
        statistics.verdicts.dropped++;
        return;
      case 'suppressed':
        statistics.suppressed += observation.count ?? 1;
        return;
      case 'program-record':
        statistics.programRecords++;
        return;
      case 'connect-failure':
        // Counted by its outcome.
        return;
      default:
        observation satisfies never;
    }
  }

  function resolved(ends: Ends, noise: boolean, weight: number, lines = 1): void {
    const { source, destination } = ends;
    if (ends.fromPodInterface || ends.toPodInterface) {
      statistics.podInterfaces.seen += lines;
      if (source.evidence === 'interface' || destination.evidence === 'interface')
        statistics.podInterfaces.known += lines;
    }
    if (noise) {
      statistics.noise += weight;
      return;
    }
    onLost?.(ends, weight);
    if (hasPods(source) || hasPods(destination) || hasPods(ends.inner?.source)) statistics.withPods += weight;
    else statistics.withoutPods += weight;
    if (isUnresolved(source)) bump(statistics.unresolved, source.address, lines);
    if (isUnresolved(destination)) bump(statistics.unresolved, destination.address, lines);
  }
}

function hasPods(end: Endpoint | undefined): boolean {
  return end?.kind === 'pod' || end?.candidates !== undefined;
}

function isUnresolved({ kind, address }: Endpoint): boolean {
  return kind === 'unknown' && !isName(address);
}

function bump(counts: Map<string, number>, key: string, by: number): void {
  const known = counts.get(key);
  if (known !== undefined) counts.set(key, known + by);
  else if (counts.size < keep) counts.set(key, by);
}

function noCounts(): LineCounts {
  return {
    verdicts: { dropped: 0, rejected: 0, logged: 0, accepted: 0 },
    noise: 0,
    withPods: 0,
    withoutPods: 0,
    unresolved: new Map(),
    podInterfaces: { seen: 0, known: 0 },
    loggedPrefixes: new Map(),
    unparsable: 0,
    unparsableReasons: new Map(),
    conntrackFull: 0,
    neighbourOverflow: 0,
    ipvsNoDestination: 0,
    martian: 0,
    programRecords: 0,
    suppressed: 0,
    notKernel: 0,
    nodeUnknown: 0,
    failures: { denied: 0, told: 0, unproven: 0, foreign: 0, overflowed: 0 },
  };
}
