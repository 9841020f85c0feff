import { auditOptOut } from '../../base/model/choices.ts';
import type { NodeFacts } from '../../base/model/incident.ts';
import type { ClusterObjects } from '../../explain/resolving/resolving.ts';
import { settingsOf } from './incident-facts.ts';
import { at, type Json, strings } from '../../base/platform/json.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService, UnusableObject } from './slim.ts';

export interface Snapshot {
  objects: ClusterObjects;
  felixConfigurations: Map<string, Json>;
  optedOut: Set<string>;
  /** One line with the place of each unusable object, without which the run continues. */
  problems: string[];
}

export function collectSnapshot() {
  const snapshot: Snapshot = {
    objects: { pods: [], nodes: [], services: [], endpointSlices: [], namespaces: [] },
    felixConfigurations: new Map(),
    optedOut: new Set(),
    problems: [],
  };
  const { objects, felixConfigurations, optedOut, problems } = snapshot;
  return { snapshot, take };

  /** Returns false if the kind is not used. `place` is named in the problem of an unusable object. */
  function take(object: Json, place: string): boolean {
    const kind = at(object, 'kind');
    try {
      if (kind === 'Pod') objects.pods.push(slimPod(object));
      else if (kind === 'Node') objects.nodes.push(slimNode(object));
      else if (kind === 'Service') objects.services.push(slimService(object));
      else if (kind === 'EndpointSlice') objects.endpointSlices.push(slimEndpointSlice(object));
      else if (kind === 'Namespace') takeNamespace(object);
      else if (kind === 'FelixConfiguration') felixConfigurations.set(slimNamespace(object).name, object);
      else return false;
    } catch (error) {
      if (!(error instanceof UnusableObject)) throw error;
      const { object: name, message } = error;
      problems.push(`${place}: the ${String(kind)}${name === undefined ? '' : ` ${name}`} ${message}`);
    }
    return true;
  }

  function takeNamespace(object: Json): void {
    const { name } = slimNamespace(object);
    objects.namespaces.push(name);
    if (strings(at(object, 'metadata', 'labels'))[auditOptOut.key] === auditOptOut.value) optedOut.add(name);
  }
}

export function felixOf({ felixConfigurations }: Snapshot, node: string): NodeFacts['felix'] {
  if (felixConfigurations.size === 0) return undefined;
  const own = `node.${node}`;
  return {
    kind: 'settings',
    settings: settingsOf(felixConfigurations.get('default'), felixConfigurations.get(own), own),
  };
}
