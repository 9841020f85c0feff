import type { IncidentDetails } from '../../model/incident.ts';

/** kube-proxy tries a failed sync again after its syncPeriod, 30 s by default. */
export const syncEvery = 30_000;

/** For a Pod of a node whose rules stand still. */
export function unreachable(details: IncidentDetails): string {
  return details.failing === 'felix' || details.failing === 'calico-node'
    ? 'Network policy on this node stands still: new Pods may have no network, and changed policies do not apply.'
    : 'New or changed Services and endpoints are not reachable from this node.';
}
