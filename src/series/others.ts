import type { Endpoint } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { Series } from '../model/series.ts';
import { noteValue } from './distinct-values.ts';

/**
 * Notes in a series what its packets do not have in common: Pods of the peer's workload; ports and peers of a scan or an overflow.
 * Gives the peer if it is one more that an object refuses because of a scan.
 */
export function noteOthers(series: Series, { details, related }: Finding): Endpoint | undefined {
  if (details.kind === 'incident' || details.kind === 'overflow') return undefined;
  const { peer, port, protocol } = details.kind === 'flow' ? details : details.example;
  const into = series.finding.details;
  if (into.kind === 'flow') {
    if (peer.workload !== undefined) noteValue(series.peers, peer.object?.name ?? peer.address);
    return undefined;
  }
  if (port !== undefined) noteValue(series.ports, `${port}/${protocol}`);
  if (into.kind === 'scan' && into.of !== 'target') {
    const tried = into.of === 'stranger' ? related : peer.object;
    noteValue(series.peers, tried === undefined ? peer.address : `${tried.namespace ?? ''}/${tried.name}`);
    return undefined;
  }
  const before = series.peers.seen.length;
  noteValue(series.peers, peer.identity);
  return into.kind === 'scan' && series.peers.seen.length > before ? peer : undefined;
}
