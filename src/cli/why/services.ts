/** Finds where a Service sends a connection: which Pods, and which port of theirs. */
import { claimedAddresses, serviceAddresses } from '../../agent/kubernetes/object-addresses.ts';
import { canonicalAddress } from '../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, spelled, strings, text } from '../../base/platform/json.ts';
import { type Labels, lastingContainers, type PolicyPod, serviceNameLabel } from '../../explain/policies/policies.ts';

export interface ServicePortSpec {
  /** '' without one. */
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** The port of the Pods, or the name of one. */
  readonly target: number | string;
  readonly nodePort: number | undefined;
}

export interface ServiceSpec {
  /** `NAMESPACE/NAME`. */
  readonly name: string;
  /** Those that the API server allocates. */
  readonly addresses: readonly string[];
  /** Those that its author or a load balancer claims. They may belong to others. */
  readonly claimed: readonly string[];
  readonly ports: readonly ServicePortSpec[];
  readonly selector: Labels | undefined;
  /** Clients outside the cluster can reach it, by a NodePort, a load balancer, or an external IP. */
  readonly isExposed: boolean;
  /** Pods see the address of a Node in place of a client's outside the cluster (`externalTrafficPolicy: Cluster`). */
  readonly replacesSource: boolean;
}

export interface ServiceSlice {
  /** `NAMESPACE/NAME` of the Service. */
  readonly service: string;
  readonly addresses: readonly string[];
  readonly ports: readonly Pick<ServicePortSpec, 'name' | 'port' | 'protocol'>[];
}

/** A port of a container, with or without a name. */
export interface ContainerPort {
  readonly port: number;
  readonly protocol: string;
}

export function readService(object: Json): ServiceSpec | undefined {
  const name = spelled(at(object, 'metadata', 'name'), isLabel);
  const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
  if (name === undefined || namespace === undefined) return undefined;
  const spec = at(object, 'spec');
  const selector = strings(at(spec, 'selector'));
  const isExposed =
    ['NodePort', 'LoadBalancer'].includes(text(at(spec, 'type')) ?? '') || list(at(spec, 'externalIPs')).length > 0;
  return {
    name: `${namespace}/${name}`,
    addresses: serviceAddresses(object),
    claimed: claimedAddresses(object),
    ports: list(at(spec, 'ports')).flatMap((each) => {
      const port = numberAt(each, 'port');
      if (port === undefined) return [];
      const target = at(each, 'targetPort');
      const isTarget = typeof target === 'number' || typeof target === 'string';
      return [{ ...portOf(each, port), target: isTarget ? target : port, nodePort: numberAt(each, 'nodePort') }];
    }),
    selector: Object.keys(selector).length > 0 ? selector : undefined,
    isExposed,
    replacesSource: isExposed && at(spec, 'externalTrafficPolicy') !== 'Local',
  };
}

/** Undefined for a slice that belongs to no Service. */
export function readSlice(object: Json): ServiceSlice | undefined {
  const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
  const service = spelled(at(object, 'metadata', 'labels', serviceNameLabel), isLabel);
  if (namespace === undefined || service === undefined) return undefined;
  return {
    service: `${namespace}/${service}`,
    addresses: list(at(object, 'endpoints'))
      // Network programs use only the first address of an endpoint.
      .map((each) => canonicalAddress(text(list(at(each, 'addresses'))[0]) ?? ''))
      .filter((address) => address !== ''),
    ports: list(at(object, 'ports')).flatMap((each) => {
      const port = numberAt(each, 'port');
      return port === undefined ? [] : [portOf(each, port)];
    }),
  };
}

/** Returns the ports of containers, and of init containers that keep running. */
export function containerPortsOf(pod: Json): ContainerPort[] {
  return lastingContainers(pod).flatMap((container) =>
    list(at(container, 'ports')).flatMap((each) => {
      const port = numberAt(each, 'containerPort');
      return port === undefined ? [] : [{ port, protocol: text(at(each, 'protocol')) ?? 'TCP' }];
    }),
  );
}

export function serviceSelects({ name, selector }: ServiceSpec, pod: PolicyPod): boolean {
  if (selector === undefined || pod.completed || !name.startsWith(`${pod.namespace}/`)) return false;
  return hasLabels(pod.labels, selector);
}

export function hasLabels(labels: Labels | undefined, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels?.[key] === value);
}

/** Returns the Pod's port behind a port of a Service; undefined if the Pod has no port of that name. */
export function targetOn(pod: PolicyPod, { target, protocol }: ServicePortSpec): number | undefined {
  if (typeof target === 'number') return target;
  return pod.ports?.find((each) => each.name === target && each.protocol === protocol)?.port;
}

/** `web 80/TCP, 443/TCP`, for a message. */
export function portsText(ports: readonly (ContainerPort & Partial<Pick<ServicePortSpec, 'name'>>)[]): string {
  const most = 8;
  const named = ports
    .slice(0, most)
    .map(({ name = '', port, protocol }) => `${isSubdomain(name) ? `${name} ` : ''}${port}/${protocol}`);
  return `${named.join(', ') || 'none'}${ports.length > most ? `, and ${ports.length - most} more` : ''}`;
}

function portOf(object: Json, port: number): Pick<ServicePortSpec, 'name' | 'port' | 'protocol'> {
  return { name: text(at(object, 'name')) ?? '', port, protocol: text(at(object, 'protocol')) ?? 'TCP' };
}

function numberAt(object: Json, field: string): number | undefined {
  const value = at(object, field);
  return typeof value === 'number' ? value : undefined;
}
