import { isName } from '../platform/address.ts';
import type { Endpoint, Ends } from '../model/endpoint.ts';
import type { LogLine } from '../model/log-line.ts';
import type { Observation, PacketPart } from '../model/observation.ts';
import type { Verdict } from '../model/packet.ts';

/** Distinct values of the summary; a hostile log must not fill the memory. */
const keep = 256;

export interface Statistics {
  verdicts: Record<Verdict, number>;
  noise: number;
  /** Drops, noise apart, with and without a Pod at an end. */
  withPods: number;
  withoutPods: number;
  /** Addresses inside the cluster's ranges that had no owner at the time, and how often. */
  unresolved: Map<string, number>;
  /** Lines with an interface named like a Pod's, and those of a known Pod. */
  podInterfaces: { seen: number; known: number };
  loggedPrefixes: Map<string, number>;
  unparsable: number;
  /** By `format: reason`: the count and the first place. */
  unparsableReasons: Map<string, { count: number; place: string }>;
  conntrackFull: number;
  neighbourOverflow: number;
  martian: number;
  programRecords: number;
  suppressed: number;
  /** Lines in a format that their writer may not use: a packet as the kernel prints it, from sshd. */
  notKernel: number;
  nodeUnknown: number;
  /** `lines`: so many were alike. */
  observed: (line: LogLine, observation: Exclude<Observation, PacketPart>, lines?: number) => void;
  resolved: (ends: Ends, noise: boolean, weight: number, lines?: number) => void;
}

/** `onLost` gets lost packets, noise apart. */
export function createStatistics(onLost?: (ends: Ends, weight: number) => void): Statistics {
  const statistics: Statistics = {
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
    martian: 0,
    programRecords: 0,
    suppressed: 0,
    notKernel: 0,
    nodeUnknown: 0,
    observed,
    resolved,
  };
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
  return end !== undefined && (end.kind === 'pod' || (end.candidates !== undefined && end.candidates.length > 0));
}

function isUnresolved({ kind, address }: Endpoint): boolean {
  return kind === 'unknown' && !isName(address);
}

function bump(counts: Map<string, number>, key: string, by: number): void {
  const known = counts.get(key);
  if (known !== undefined) counts.set(key, known + by);
  else if (counts.size < keep) counts.set(key, by);
}
