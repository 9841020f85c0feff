/** Keeps of API objects what verdicts need. Nothing here throws. */
import { canonicalAddress } from '../../platform/address.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, strings, text } from '../../platform/json.ts';
import type { Labels, NamedPort, Namespace, Node, Pod } from '../model.ts';

/** v1 Pod; undefined without a name. */
export function readPod(object: Json): Pod | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isSubdomain);
  const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
  if (name === undefined || namespace === undefined) return undefined;
  const addresses = [
    ...list(at(object, 'status', 'podIPs')).map((each) => at(each, 'ip')),
    at(object, 'status', 'podIP'),
  ].map((each) => canonicalAddress(text(each) ?? ''));
  const phase = at(object, 'status', 'phase');
  return {
    namespace,
    name,
    labels: strings(at(object, 'metadata', 'labels')),
    addresses: [...new Set(addresses.filter((address) => address !== ''))],
    node: spelled(at(object, 'spec', 'nodeName'), isSubdomain),
    hostNetwork: at(object, 'spec', 'hostNetwork') === true,
    completed: phase === 'Succeeded' || phase === 'Failed',
    ports: [...sidecars(object), ...list(at(object, 'spec', 'containers'))].flatMap(namedPorts),
    // The API server fills it in; a manifest need not have it.
    serviceAccount: spelled(at(object, 'spec', 'serviceAccountName'), isSubdomain) ?? 'default',
  };
}

/** Init containers that run beside the others (kubernetes#125285). */
function sidecars(object: Json): Json[] {
  return list(at(object, 'spec', 'initContainers')).filter((each) => at(each, 'restartPolicy') === 'Always');
}

function namedPorts(container: Json): NamedPort[] {
  return list(at(container, 'ports')).flatMap((each) => {
    const [name, port] = [text(at(each, 'name')), at(each, 'containerPort')];
    if (name === undefined || typeof port !== 'number') return [];
    return [{ name, port, protocol: text(at(each, 'protocol')) ?? 'TCP' }];
  });
}

/** v1 Namespace; undefined without a name. */
export function readNamespace(object: Json): Namespace | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isLabel);
  return name === undefined ? undefined : { name, labels: strings(at(object, 'metadata', 'labels')) };
}

export interface NodeWithAddresses extends Node {
  readonly labels: Labels;
  readonly addresses: readonly string[];
}

/** v1 Node; undefined without a name. */
export function readNode(object: Json): NodeWithAddresses | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isSubdomain);
  if (name === undefined) return undefined;
  const addresses = list(at(object, 'status', 'addresses')).map((each) =>
    canonicalAddress(text(at(each, 'address')) ?? ''),
  );
  return {
    name,
    labels: strings(at(object, 'metadata', 'labels')),
    addresses: addresses.filter((address) => address !== ''),
  };
}
