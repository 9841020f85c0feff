import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../address.ts';
import type { Endpoint, Millis } from '../model.ts';
import type { Node, Pod, Service } from '../resolving/objects.ts';
import { workloadOf } from '../resolving/workload.ts';

/** Any JSON value, looked into without trust. */
export type Json = unknown;

/** An API object that lacks what makes it usable; the message says what. */
export class UnusableObject extends Error {
  /** Name of the object, where it has one. */
  readonly object: string | undefined;

  constructor(message: string, object?: string) {
    super(message);
    this.object = object;
  }
}

/** v1 Pod → the fields that are kept. */
export function slimPod(object: Json): Pod {
  const { namespace, name, uid, resourceVersion } = identity(object, true);
  const labels = strings(at(object, 'metadata', 'labels'));
  const annotations = strings(at(object, 'metadata', 'annotations'));
  const owners = list(at(object, 'metadata', 'ownerReferences'));
  const owner = owners.find((each) => at(each, 'controller') === true) ?? owners[0];
  const from =
    instant(at(object, 'status', 'startTime')) ?? instant(at(object, 'metadata', 'creationTimestamp')) ?? -Infinity;
  return {
    namespace,
    name,
    resourceVersion,
    uid: annotations['kubernetes.io/config.mirror'] ?? uid,
    node: text(at(object, 'spec', 'nodeName')),
    hostNetwork: at(object, 'spec', 'hostNetwork') === true,
    addresses: addresses([
      ...list(at(object, 'status', 'podIPs')).map((each) => at(each, 'ip')),
      at(object, 'status', 'podIP'),
    ]),
    workload: workloadOf(
      namespace,
      owner === undefined ? undefined : { kind: text(at(owner, 'kind')) ?? '', name: text(at(owner, 'name')) ?? '' },
      labels,
    ),
    role: isDns(labels) ? 'dns' : labels['component'] === 'kube-apiserver' ? 'api-server' : undefined,
    from,
    until: endOf(object, from),
  };
}

/** v1 Node → the fields that are kept. */
export function slimNode(object: Json): Node {
  const { name, uid, resourceVersion } = identity(object, false);
  const annotations = strings(at(object, 'metadata', 'annotations'));
  const status = list(at(object, 'status', 'addresses'));
  const tunnels = tunnelAnnotations.map((key) => annotations[key]);
  return {
    name,
    uid,
    resourceVersion,
    addresses: addresses([...status.map((each) => at(each, 'address')), ...tunnels]),
    podRanges: ranges([...list(at(object, 'spec', 'podCIDRs')), at(object, 'spec', 'podCIDR')]),
    hostNames: [
      ...status
        .filter((each) => /Hostname|DNS$/.test(text(at(each, 'type')) ?? ''))
        .map((each) => text(at(each, 'address')) ?? ''),
      strings(at(object, 'metadata', 'labels'))['kubernetes.io/hostname'] ?? '',
    ].filter((each) => each !== ''),
  };
}

/** v1 Service → the fields that are kept. */
export function slimService(object: Json): Service {
  const { namespace, name, uid, resourceVersion } = identity(object, true);
  const balancers = list(at(object, 'status', 'loadBalancer', 'ingress')).map((each) => at(each, 'ip'));
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    addresses: addresses([
      ...list(at(object, 'spec', 'clusterIPs')),
      at(object, 'spec', 'clusterIP'),
      ...list(at(object, 'spec', 'externalIPs')),
      ...balancers,
    ]),
    role: serviceRole(namespace, name),
  };
}

/** Addresses of the tunnel devices, by which a node's own packets reach Pods elsewhere. */
const tunnelAnnotations = [
  'projectcalico.org/IPv4IPIPTunnelAddr',
  'projectcalico.org/IPv4VXLANTunnelAddr',
  'projectcalico.org/IPv6VXLANTunnelAddr',
  'projectcalico.org/IPv4Address',
  'projectcalico.org/IPv6Address',
  'projectcalico.org/IPv4WireguardInterfaceAddr',
  'projectcalico.org/IPv6WireguardInterfaceAddr',
  'flannel.alpha.coreos.com/public-ip',
];

function isDns(labels: Record<string, string>): boolean {
  return (
    /^(?:kube-dns|coredns|node-local-dns)$/.test(labels['k8s-app'] ?? '') ||
    'dns.operator.openshift.io/daemonset-dns' in labels
  );
}

function serviceRole(namespace: string, name: string): Endpoint['role'] {
  if (namespace === 'default' && name === 'kubernetes') return 'api-server';
  return /^(?:kube-dns|coredns|rke2-coredns-rke2-coredns|dns-default)$/.test(name) ? 'dns' : undefined;
}

/**
 * When a Pod gave up its addresses. A completed Pod still shows them in its status, though they may be another Pod's
 * by now; without a time of its end it is taken never to have had them.
 */
function endOf(object: Json, from: Millis): Millis {
  const phase = at(object, 'status', 'phase');
  if (phase !== 'Succeeded' && phase !== 'Failed') return Infinity;
  const ends = [
    ...list(at(object, 'status', 'containerStatuses')),
    ...list(at(object, 'status', 'initContainerStatuses')),
  ]
    .map((each) => instant(at(each, 'state', 'terminated', 'finishedAt')))
    .filter((each) => each !== undefined);
  // The API cuts its times to whole seconds, so it was still there in that second.
  return ends.length === 0 ? from : Math.max(...ends) + 1000;
}

function identity(
  object: Json,
  namespaced: boolean,
): { namespace: string; name: string; uid: string; resourceVersion: string | undefined } {
  const name = text(at(object, 'metadata', 'name'));
  const namespace = text(at(object, 'metadata', 'namespace'));
  if (name === undefined) throw new UnusableObject('has no metadata.name');
  if (namespaced && namespace === undefined) throw new UnusableObject('has no metadata.namespace', name);
  return {
    name,
    namespace: namespace ?? '',
    uid: text(at(object, 'metadata', 'uid')) ?? '',
    resourceVersion: text(at(object, 'metadata', 'resourceVersion')),
  };
}

function at(value: Json, ...path: string[]): Json {
  let here = value;
  for (const key of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Record<string, Json>)[key];
  }
  return here;
}

function list(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

function text(value: Json): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function strings(value: Json): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function instant(value: Json): Millis | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** Canonical and unique; host names, `None` and a CIDR's length are dropped. */
function addresses(values: Json[]): string[] {
  const found = new Set<string>();
  for (const value of values) {
    const address = canonicalAddress(text(value)?.split('/', 1)[0] ?? '');
    if (address !== '') found.add(address);
  }
  return [...found];
}

function ranges(values: Json[]): string[] {
  return [
    ...new Set(values.filter((value): value is string => typeof value === 'string' && ipaddr.isValidCIDR(value))),
  ];
}
