/** Turns the question of `why` into the connections that policies see: to the Pods behind a Service, and from the address that they see. */
import { isIPv6 } from '../../base/platform/address.ts';
import type { End, PolicyFlow, PolicyPod } from '../../explain/policies/policies.ts';
import type { WhyOptions } from '../options/why-options.ts';
import { addressOwner, endOfAddress, findEnd, withFamily } from './ends.ts';
import { type KnownObjects, WhyError } from './known-objects.ts';
import { portsText, serviceSelects, type ServicePortSpec, type ServiceSpec, targetOn } from './services.ts';

export interface AskedConnection {
  readonly flow: PolicyFlow;
  /** How the question leads to it; undefined if it is the question itself. */
  readonly because: string | undefined;
}

export interface AskedConnections {
  /** At least one. Through a Service there is one for each Pod behind it. */
  readonly connections: readonly [AskedConnection, ...AskedConnection[]];
  /** What the user should know, such as that nothing listens on the port. */
  readonly notes: readonly string[];
}

/** Throws a `WhyError` if an end does not exist, or nothing is behind a Service. */
export function findConnections(options: WhyOptions, objects: KnownObjects): AskedConnections {
  const { from, to, protocol, files } = options;
  const opener = findEnd('--from', from, objects, files);
  const entry = options.exact === true ? undefined : findEntry(options, objects);
  if (entry !== undefined) return throughService(entry, opener, options, objects);
  const target = findEnd('--to', to, objects, files);
  const isByName = from.kind !== 'address';
  const source = isByName ? withFamily(opener, target, objects) : opener;
  const destination = to.kind === 'address' ? target : withFamily(target, source, objects);
  const flow = flowOf(source, destination, protocol, options.port);
  return options.exact === true || flow.destination.kind !== 'pod'
    ? { connections: [{ flow, because: undefined }], notes: [] }
    : toPod(flow, flow.destination.pod, objects);
}

function flowOf(source: End, destination: End, protocol: string, port: number | undefined): PolicyFlow {
  const isOfIPv6 = isIPv6(source.address ?? destination.address ?? '');
  return { source, destination, protocol: protocol === 'ICMP' && isOfIPv6 ? 'ICMPv6' : protocol, port };
}

/** The port of a Service by which the connection goes. */
export interface ServiceEntry {
  readonly service: ServiceSpec;
  readonly port: ServicePortSpec;
}

/** Returns the Service that takes the connection, and its port; undefined if it goes to another end. */
export function findEntry({ to, port, protocol, files }: WhyOptions, objects: KnownObjects): ServiceEntry | undefined {
  const { services, pods } = objects;
  if (to.kind === 'address') return entryAt(to.address, port, protocol, objects);
  if (to.kind !== 'service' && to.kind !== 'pod') return undefined;
  const name = `${to.namespace}/${to.name}`;
  const service = services.get(name);
  if (to.kind === 'pod' && (pods.has(name) || service === undefined)) return undefined;
  if (service === undefined)
    throw new WhyError(
      `--to ${name}: there is no such Service${files.length > 0 && services.size === 0 ? '; the files have none' : ''}`,
    );
  return { service, port: portOf(service, port, protocol) };
}

/**
 * Finds the Service behind an address. Undefined if the address belongs to a Pod, or has no owner. A Node's address leads to a Service through
 * a NodePort, or if the Node is the load balancer, as in k3s. An address without an owner leads to the only Service that claims it.
 */
function entryAt(
  address: string,
  port: number | undefined,
  protocol: string,
  objects: KnownObjects,
): ServiceEntry | undefined {
  const owner = addressOwner(address, objects);
  if (owner?.kind === 'pod') return undefined;
  if (owner?.kind === 'service') return { service: owner.service, port: portOf(owner.service, port, protocol) };
  const services = [...objects.services.values()];
  const claiming = services.filter(({ claimed }) => claimed.includes(address));
  const taking = claiming.flatMap((service) => entryBy(service, (each) => each.port === port, protocol));
  if (owner?.kind === 'node')
    return taking[0] ?? services.flatMap((service) => entryBy(service, (each) => each.nodePort === port, protocol))[0];
  return claiming.length === 1 ? taking[0] : undefined;
}

function entryBy(service: ServiceSpec, isAsked: (port: ServicePortSpec) => boolean, protocol: string): ServiceEntry[] {
  const port = service.ports.find((each) => each.protocol === protocol && isAsked(each));
  return port === undefined ? [] : [{ service, port }];
}

function portOf({ name, ports }: ServiceSpec, port: number | undefined, protocol: string): ServicePortSpec {
  const found = ports.find((each) => each.port === port && each.protocol === protocol);
  if (found !== undefined) return found;
  const asked = port === undefined ? protocol : `port ${port}/${protocol}`;
  throw new WhyError(`Service ${name} does not take ${asked}; its ports: ${portsText(ports)}`);
}

function throughService(
  { service, port }: ServiceEntry,
  opener: End,
  { from, protocol }: WhyOptions,
  objects: KnownObjects,
): AskedConnections {
  const isReplaced = isOutside(opener) && service.replacesSource;
  const connections = backendsOf(service, port, objects).flatMap(({ end, number }): AskedConnection[] => {
    const destination = withFamily(end, opener, objects);
    const seen = isReplaced ? nodeSeenBy(destination, objects) : opener;
    if (seen === undefined) return [];
    const source = from.kind === 'address' ? seen : withFamily(seen, destination, objects);
    const because = `Service ${service.name} sends ${port.port}/${port.protocol} to port ${number}${isReplaced ? `, from ${replaced}` : ''}`;
    return [{ flow: { ...flowOf(source, destination, protocol, number), viaService: true }, because }];
  });
  const [first, ...others] = connections;
  if (first === undefined) throw new WhyError(`Service ${service.name}: ${noNodes}`);
  return { connections: [first, ...others], notes: [] };
}

const replaced = "the address of a Node in place of the client's (externalTrafficPolicy: Cluster)";
const noNodes = `the Pods behind it see ${replaced}, and no Node is known`;

interface Backend {
  readonly end: End;
  readonly number: number;
}

/** Uses EndpointSlices where there are any, because a Service without a selector has only these. */
function backendsOf(service: ServiceSpec, port: ServicePortSpec, objects: KnownObjects): Backend[] {
  const { slices, pods } = objects;
  const own = [...slices.values()].filter((slice) => slice.service === service.name);
  const listed = own.flatMap(({ addresses, ports }) => {
    const number = ports.find(({ name, protocol }) => name === port.name && protocol === port.protocol)?.port;
    return number === undefined
      ? []
      : addresses.map((address): Backend => ({ end: endOfAddress(address, objects), number }));
  });
  if (listed.length > 0) return listed;
  const selected = [...pods.values()].filter((pod) => serviceSelects(service, pod));
  const found = selected.flatMap((pod): Backend[] => {
    const number = targetOn(pod, port);
    return number === undefined ? [] : [{ end: { kind: 'pod', pod, address: pod.addresses[0] }, number }];
  });
  if (found.length > 0) return found;
  throw new WhyError(
    `Service ${service.name}: nothing is known behind its port ${port.port}/${port.protocol}: ${
      service.selector === undefined
        ? 'it has no selector, and no EndpointSlice of it is known'
        : selected.length === 0
          ? 'its selector matches no Pod'
          : `no Pod that it selects has a port called ${port.target}`
    }`,
  );
}

/** A connection to a Pod by its own address. */
function toPod(flow: PolicyFlow, pod: PolicyPod, objects: KnownObjects): AskedConnections {
  const { services, containerPorts } = objects;
  const { port: asked, protocol } = flow;
  const name = `${pod.namespace}/${pod.name}`;
  const own = [...services.values()].filter((service) => serviceSelects(service, pod));
  const declared = containerPorts.get(name) ?? [];
  const isDeclared = declared.some((each) => each.port === asked && each.protocol === protocol);
  const ports = own.flatMap((service) =>
    service.ports
      .filter((each) => each.protocol === protocol)
      .map((port) => ({ service, port, target: targetOn(pod, port) })),
  );
  const mapped = isDeclared
    ? undefined
    : ports.find(({ port, target }) => port.port === asked && target !== undefined && target !== asked);
  const port = mapped?.target ?? asked;
  const notes: string[] = [];
  if (mapped !== undefined)
    notes.push(
      `${name} declares no port ${asked}/${protocol}; its Service ${mapped.service.name} sends ${asked} to ${port} of the Pod, so the answer is for ${port}`,
    );
  else if (asked !== undefined && declared.length > 0 && !isDeclared && !ports.some(({ target }) => target === asked))
    notes.push(
      `as far as the objects say, nothing of ${name} listens on ${asked}/${protocol}: its containers declare ${portsText(declared)}`,
    );
  const direct: AskedConnection = {
    flow: { ...flow, port },
    because: mapped && `Service ${mapped.service.name} sends ${asked}/${protocol} to port ${port}`,
  };
  const entry = isOutside(flow.source)
    ? ports.find(({ service, target }) => service.replacesSource && target === port)
    : undefined;
  if (entry === undefined) return { connections: [direct], notes };
  const node = nodeSeenBy(flow.destination, objects);
  if (node === undefined)
    return { connections: [direct], notes: [...notes, `Service ${entry.service.name}: ${noNodes}`] };
  const because = `through Service ${entry.service.name}: from ${replaced}`;
  return { connections: [direct, { flow: { ...flow, source: node, port }, because }], notes };
}

function isOutside({ kind }: End): boolean {
  return kind === 'external' || kind === 'unknown';
}

/** Prefers another Node than the Pod's own, which every Pod admits. */
function nodeSeenBy(destination: End, { nodes }: KnownObjects): End | undefined {
  const home = destination.kind === 'pod' ? destination.pod.node : undefined;
  const all = [...nodes.values()];
  const node = all.find((each) => each.name !== home) ?? all[0];
  if (node === undefined) return undefined;
  const isOfIPv6 = isIPv6(destination.address ?? '');
  const address = node.addresses.find((each) => isIPv6(each) === isOfIPv6) ?? node.addresses[0];
  return { kind: 'node', node, address };
}

/** Returns the Services by which clients outside the cluster reach a Pod with the address of a Node. */
export function servicesThatReplaceSource(
  pod: PolicyPod,
  port: number | undefined,
  { services }: KnownObjects,
): ServiceSpec[] {
  return [...services.values()].filter(
    (service) =>
      service.replacesSource &&
      serviceSelects(service, pod) &&
      service.ports.some((each) => targetOn(pod, each) === port),
  );
}
