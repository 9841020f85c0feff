/** Collects the values that differ within one series: several ports of a peer, Pods of a workload, peers of a scan. */
import { objectKey, type Endpoint } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Series, DistinctValues } from '../model/series.ts';
import { copy } from '../platform/address.ts';

/** Names the Event of an object for several ports of one peer; undefined of a finding that has no port to be one of several. */
export function portsIdentity({ details, regarding, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || !hasPort(details)) return undefined;
  return `ports|${objectKey(regarding)}|${details.peer.identity}|${node}`;
}

/** Gives what packets to several ports of one peer are counted as; `finding` is that of the first one. */
export function portsFinding(finding: Finding, identity: string): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...finding, identity, details: { kind: 'ports', example: details } };
}

/** Gives the finding of the first packet. */
export function singleFinding(finding: Finding): Finding {
  const { details } = finding;
  return details.kind === 'ports' ? { ...finding, details: details.example } : finding;
}

/** Whether one Event may count the packets of a finding and of a series: what it says holds for both. */
export function isAlike({ finding }: Series, { details }: Finding): boolean {
  const known = finding.details.kind === 'ports' ? finding.details.example : finding.details;
  if (known.kind !== 'flow' || details.kind !== 'flow' || !hasPort(known)) return false;
  return (
    known.peer.identity === details.peer.identity &&
    known.direction === details.direction &&
    known.reply === details.reply &&
    known.verdict === details.verdict &&
    known.enforcer === details.enforcer
  );
}

/** Moves the packets of a series into another one. */
export function moveInto(joint: Series, series: Series): void {
  joint.count += series.count;
  joint.first = Math.min(joint.first, series.first);
  joint.last = Math.max(joint.last, series.last);
  joint.suppressed ||= series.suppressed;
  noteOthers(joint, series.finding, series);
}

/** An ICMP error and a martian packet are problems of their own, whatever port they are about. */
function hasPort({ port, error, martian }: FlowDetails): boolean {
  return port !== undefined && error === undefined && !martian;
}

/**
 * Notes in a series what its packets do not have in common: Pods of the peer's workload; ports; peers of a scan or an overflow. `from`: the
 * series that counted the packets of the finding until now. Gives the peer if it is one more that an object refuses because of a scan.
 */
export function noteOthers(series: Series, { details, related }: Finding, from?: Series): Endpoint | undefined {
  if (details.kind === 'incident' || details.kind === 'overflow') return undefined;
  const { peer, port, protocol } = details.kind === 'flow' ? details : details.example;
  const into = series.finding.details;
  if (into.kind !== 'flow') {
    if (port !== undefined) noteValue(series.ports, `${port}/${protocol}`);
    if (from !== undefined) noteAll(series.ports, from.ports);
  }
  if (into.kind === 'flow' || into.kind === 'ports') {
    if (peer.workload === undefined) return undefined;
    noteValue(series.peers, peer.object?.name ?? peer.address);
    if (from !== undefined) noteAll(series.peers, from.peers);
    return undefined;
  }
  if (into.kind === 'scan' && into.of !== 'target') {
    const tried = into.of === 'stranger' ? related : peer.object;
    noteValue(series.peers, tried === undefined ? peer.address : `${tried.namespace ?? ''}/${tried.name}`);
    return undefined;
  }
  const before = series.peers.seen.length;
  noteValue(series.peers, peer.identity);
  return into.kind === 'scan' && series.peers.seen.length > before ? peer : undefined;
}

function noteAll(into: DistinctValues, { seen, past }: DistinctValues): void {
  for (const value of seen) noteValue(into, value);
  into.past += past;
}

/** Distinct values that are remembered. */
export const distinctLimit = 512;

/** Longer lists are searched by a set, which is no part of the plain data. */
const searchable = 16;
const sets = new WeakMap<DistinctValues, Set<string>>();

export function createDistinctValues(): DistinctValues {
  return { seen: [], past: 0 };
}

/** Counts a value: once if it can be remembered, each time if not. */
export function noteValue(into: DistinctValues, value: string): void {
  const { seen } = into;
  const known = seen.length <= searchable ? undefined : setOf(into);
  if (known?.has(value) ?? seen.includes(value)) return;
  if (seen.length >= distinctLimit) {
    into.past++;
    return;
  }
  // A slice of a line would keep the line.
  const kept = copy(value);
  seen.push(kept);
  known?.add(kept);
}

function setOf(values: DistinctValues): Set<string> {
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new Set(values.seen)));
  return set;
}
