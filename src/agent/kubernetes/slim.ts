import { isHostName, isKind, isLabel, isLabelValue, isOpaqueId, isSubdomain } from '../../base/platform/api-names.ts';
import type { Millis } from '../../base/model/log-line.ts';
import {
  type EndpointSlice,
  type Node,
  type Owner,
  packEndpoints,
  type Pod,
  type Service,
  workloadOf,
} from '../../explain/resolving/resolving.ts';
import type { Backend } from '../../base/model/incident.ts';
import {
  addresses,
  annotatedAddresses,
  mostAddresses,
  nodeAddresses,
  podRanges,
  serviceAddresses,
} from './object-addresses.ts';
import { containersOf, healthOf, lastEnd, podPorts, podRole, serviceRole, slimPorts } from './pod-fields.ts';
import { at, instant, type Json, list, spelled, strings, text } from '../../base/platform/json.ts';

export class UnusableObject extends Error {
  readonly object: string | undefined;

  constructor(message: string, object?: string) {
    super(message);
    this.object = object;
  }
}

export function ifUsable<T>(slim: (object: Json) => T): (object: Json) => T | undefined {
  return (object) => {
    try {
      return slim(object);
    } catch (error) {
      if (error instanceof UnusableObject) return undefined;
      throw error;
    }
  };
}

export function slimPod(object: Json, keptLabels: readonly string[] = []): Pod {
  const { namespace, name, uid, resourceVersion } = identity(object, true);
  const labels = strings(at(object, 'metadata', 'labels'));
  const annotations = strings(at(object, 'metadata', 'annotations'));
  const owners = list(at(object, 'metadata', 'ownerReferences'));
  const ports = podPorts(object);
  const from =
    instant(at(object, 'status', 'startTime')) ?? instant(at(object, 'metadata', 'creationTimestamp')) ?? -Infinity;
  return {
    namespace,
    name,
    resourceVersion,
    uid: spelled(annotations['kubernetes.io/config.mirror'], isConfigHash) ?? uid,
    node: spelled(at(object, 'spec', 'nodeName'), isSubdomain),
    hostNetwork: at(object, 'spec', 'hostNetwork') === true,
    addresses: addresses(
      [...list(at(object, 'status', 'podIPs')).map((each) => at(each, 'ip')), at(object, 'status', 'podIP')],
      mostAddresses.ofPod,
    ),
    workload: workloadOf(
      namespace,
      ownerIn(owners.find((each) => at(each, 'controller') === true) ?? owners[0]),
      labels,
    ),
    role: podRole(namespace, labels),
    ...(keptLabels.length > 0 && { labels: labelsText(labels, keptLabels) }),
    ...(ports !== undefined && { ports }),
    from,
    until: endOf(object, from),
    ...healthOf(object),
  };
}

/** Names and values of labels contain neither commas nor equals signs, so the text needs no quotes. */
function labelsText(labels: Readonly<Record<string, string>>, names: readonly string[]): string | undefined {
  const found = names.flatMap((name) => {
    const value = Object.hasOwn(labels, name) ? labels[name] : undefined;
    return value !== undefined && isLabelValue(value) ? `${name}=${value}` : [];
  });
  return found.join(',') || undefined;
}

/** Reads an owner only if it is spelled validly, because anybody who may create a Pod may write any text as its owner. */
function ownerIn(reference: Json): Owner | undefined {
  const kind = spelled(at(reference, 'kind'), isKind);
  const name = spelled(at(reference, 'name'), isSubdomain);
  return kind === undefined || name === undefined ? undefined : { kind, name };
}

/** The kubelet writes an MD5 to static Pods. Anybody may write this annotation, and as a uid it would make one Pod look like another. */
function isConfigHash(annotation: string): boolean {
  return /^[0-9a-f]{32}$/.test(annotation);
}

export function slimNode(object: Json): Node {
  const annotated = annotatedAddresses(object);
  const { name, uid, resourceVersion } = identity(object, false);
  const status = list(at(object, 'status', 'addresses'));
  return {
    name,
    uid,
    resourceVersion,
    addresses: nodeAddresses(object),
    ...(annotated.length > 0 && { annotated }),
    podRanges: podRanges(object),
    hostNames: [
      ...status.filter((each) => /Hostname|DNS$/.test(text(at(each, 'type')) ?? '')).map((each) => at(each, 'address')),
      at(object, 'metadata', 'labels', 'kubernetes.io/hostname'),
    ].flatMap((each) => spelled(each, isHostName) ?? []),
  };
}

export function slimNamespace(object: Json): { name: string } {
  return { name: identity(object, false).name };
}

export function slimService(object: Json): Service {
  const { namespace, name, uid, resourceVersion } = identity(object, true);
  const balancers = list(at(object, 'status', 'loadBalancer', 'ingress')).map((each) => at(each, 'ip'));
  const published = addresses([...list(at(object, 'spec', 'externalIPs')), ...balancers], mostAddresses.ofService);
  const own = serviceAddresses(object);
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    addresses: own,
    // kube-proxy ignores Services without a ClusterIP.
    ...(own.length > 0 && published.length > 0 && { published }),
    role: serviceRole(namespace, name),
    ports: slimPorts(at(object, 'spec', 'ports')),
  };
}

/** Slices of host names (`addressType: FQDN`) count as empty. */
export function slimEndpointSlice(object: Json): EndpointSlice {
  const { namespace, name, resourceVersion } = identity(object, true);
  return {
    namespace,
    name,
    resourceVersion,
    service: spelled(at(object, 'metadata', 'labels', 'kubernetes.io/service-name'), isLabel) ?? '',
    ports: slimPorts(at(object, 'ports')),
    endpoints: packEndpoints(list(at(object, 'endpoints')).flatMap((each) => backend(namespace, each))),
  };
}

/** Keeps only the first address, as kube-proxy does. A missing readiness means ready, and without `serving` an endpoint serves. */
function backend(namespace: string, endpoint: Json): Backend[] {
  const [address] = addresses(list(at(endpoint, 'addresses')).slice(0, 1), 1);
  if (address === undefined) return [];
  const target = at(endpoint, 'targetRef');
  // A user who may write slices may name any Pod; the Pods of a Service are in its own Namespace.
  const isOwn = at(target, 'kind') === 'Pod' && (at(target, 'namespace') ?? namespace) === namespace;
  const name = isOwn ? spelled(at(target, 'name'), isSubdomain) : undefined;
  const conditions = at(endpoint, 'conditions');
  const ready = at(conditions, 'ready') !== false;
  const isDraining = !ready && at(conditions, 'terminating') === true && at(conditions, 'serving') !== false;
  return [
    {
      address,
      pod: name === undefined ? undefined : { namespace, name },
      node: spelled(at(endpoint, 'nodeName'), isSubdomain),
      ready,
      ...(isDraining && { isDraining }),
    },
  ];
}

/** Another Pod may have the addresses of a completed one. Without an end time, it counts as never having had them. */
function endOf(object: Json, from: Millis): Millis {
  const phase = at(object, 'status', 'phase');
  if (phase !== 'Succeeded' && phase !== 'Failed') return Infinity;
  const end = lastEnd(containersOf(object), 'state');
  // The API server cuts times to whole seconds, so the end may be up to a second later.
  return end === undefined ? from : end + 1000;
}

function identity(
  object: Json,
  namespaced: boolean,
): { namespace: string; name: string; uid: string; resourceVersion: string | undefined } {
  const name = required(object, 'name', isSubdomain);
  return {
    name,
    namespace: namespaced ? required(object, 'namespace', isLabel, name) : '',
    uid: spelled(at(object, 'metadata', 'uid'), isOpaqueId) ?? '',
    resourceVersion: spelled(at(object, 'metadata', 'resourceVersion'), isOpaqueId),
  };
}

function required(object: Json, field: string, grammar: (text: string) => boolean, name?: string): string {
  const value = at(object, 'metadata', field);
  const found = spelled(value, grammar);
  if (found !== undefined) return found;
  throw new UnusableObject(`has ${text(value) === undefined ? 'no' : 'an impossible'} metadata.${field}`, name);
}
