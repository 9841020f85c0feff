import {
  createNodeIncidents,
  type NodeIncidents,
  type NodeIncidentsOptions,
} from '../../../src/explain/incidents/incidents.ts';
import type { TrackedIncident } from '../../../src/explain/incidents/incident.ts';
import type { AffectedPod } from '../../../src/explain/incidents/reporting/details.ts';
import { newFailure } from '../../../src/explain/incidents/tracker/attempts.ts';
import { nodeRef } from '../../../src/explain/resolving/endpoints.ts';
import { nine, node as nodeObject } from '../../builders.ts';

/** Makes incidents without any facts to explain them: no Pods, Services or settings are known. */
export function nodeIncidents(
  count: NodeIncidentsOptions['count'],
  given: Partial<NodeIncidentsOptions> & { node?: string } = {},
): NodeIncidents {
  const { node = 'node-a' } = given;
  return createNodeIncidents({
    node,
    nodeRef: () => nodeRef(nodeObject({ name: node })),
    findPod: () => undefined,
    podsHere: () => [],
    chains: { ownerOf: () => undefined, backendsOf: () => [] },
    facts: {},
    count,
    isReady: () => true,
    ...given,
  });
}

/** An incident that opened with its second failure, 30 s after nine. */
export function openIncident(given: Partial<TrackedIncident> = {}): TrackedIncident {
  const { incident } = newFailure('KN102', 'kube-proxy', nine);
  return { ...incident, phase: 'open', last: nine + 30_000, opened: nine + 30_000, failures: 2, ...given };
}

/** A Pod that runs well. */
export function affectedPod(name: string, given: Partial<AffectedPod> = {}): AffectedPod {
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    hostNetwork: false,
    running: true,
    problem: undefined,
    ...given,
  };
}
