import { createNodeIncidents, type NodeIncidents, type NodeIncidentsOptions } from '../../src/incidents/incidents.ts';
import { nodeRef } from '../../src/resolving/endpoints.ts';
import { node as nodeObject } from '../builders.ts';

/** Makes the incidents of a node about which nothing can be found out. */
export function nodeIncidents(
  count: NodeIncidentsOptions['count'],
  given: Partial<NodeIncidentsOptions> & { node?: string } = {},
): NodeIncidents {
  const { node = 'node-a' } = given;
  return createNodeIncidents({
    node,
    nodeRef: () => nodeRef(nodeObject({ name: node })),
    podOf: () => undefined,
    podsHere: () => [],
    chains: { ownerOf: () => undefined, backendsOf: () => [] },
    facts: {},
    count,
    isReady: () => true,
    ...given,
  });
}
