import type { Endpoint } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { DistinctValues, Series } from '../model/series.ts';
import { noteValue } from './distinct-values.ts';

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
