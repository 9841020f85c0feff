import type { Attempt } from '../src/publish/events/retry.ts';
import type { Endpoint, Ends, ObjectRef } from '../src/base/model/endpoint.ts';
import type { Finding, FlowDetails } from '../src/base/model/finding.ts';
import type { Backend, FelixSettings, IncidentDetails, NodeFacts } from '../src/base/model/incident.ts';
import type { LogLine } from '../src/base/model/log-line.ts';
import type { Packet, PacketObservation } from '../src/base/model/packet.ts';
import type { Series } from '../src/base/model/series.ts';
import {
  type ClusterObjects,
  type EndpointSlice,
  type Node,
  packEndpoints,
  type Pod,
  type Service,
} from '../src/explain/resolving/objects.ts';
import { createDistinctValues } from '../src/count/series/slots.ts';

/** 2026-11-21T09:00:00Z: the hour in which the tests' packets are dropped. */
export const nine = Date.UTC(2026, 10, 21, 9);

/** `09:05:01.5` on that day. */
export function clock(text: string): number {
  return Date.parse(`2026-11-21T${text}Z`);
}

export function pod(given: Partial<Pod> = {}): Pod {
  const name = given.name ?? 'web-0';
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    node: 'node-a',
    hostNetwork: false,
    addresses: ['10.65.1.4'],
    workload: undefined,
    role: undefined,
    from: -Infinity,
    until: Infinity,
    running: true,
    problem: undefined,
    restarted: undefined,
    ...given,
  };
}

export function node(given: Partial<Node> = {}): Node {
  const name = given.name ?? 'node-a';
  return {
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '3',
    addresses: ['192.168.7.11'],
    podRanges: [],
    hostNames: [],
    ...given,
  };
}

export function service(given: Partial<Service> = {}): Service {
  return {
    namespace: 'shop',
    name: 'api',
    uid: 'uid-of-api',
    resourceVersion: '5',
    addresses: ['10.96.0.80'],
    role: undefined,
    ports: [{ name: 'http', port: 80, protocol: 'tcp' }],
    ...given,
  };
}

/** A slice of the Service above, with one Pod on another node. */
export function endpointSlice({
  endpoints = [backend()],
  ...given
}: Partial<Omit<EndpointSlice, 'endpoints'> & { endpoints: Backend[] }> = {}): EndpointSlice {
  const namespace = given.namespace ?? 'shop';
  return {
    namespace,
    name: 'api-x2x7k',
    resourceVersion: '6',
    service: 'api',
    ports: [{ name: 'http', port: 8080, protocol: 'tcp' }],
    ...given,
    endpoints: packEndpoints(endpoints),
  };
}

export function backend(given: Partial<Backend> = {}): Backend {
  return { pod: { namespace: 'shop', name: 'api-0' }, address: '10.65.2.9', node: 'node-b', ready: true, ...given };
}

export function cluster(given: Partial<ClusterObjects> = {}): ClusterObjects {
  return { pods: [], nodes: [], services: [], endpointSlices: [], namespaces: [], ...given };
}

export function packet(given: Partial<Packet> = {}): Packet {
  return {
    source: '10.65.1.4',
    destination: '10.65.2.9',
    protocol: 'TCP',
    sourcePort: 40112,
    destinationPort: 5432,
    icmpType: undefined,
    icmpCode: undefined,
    tcpFlags: 2,
    length: 60,
    ttl: 63,
    laterFragment: false,
    incomplete: false,
    ...given,
  };
}

/** A packet without ports. */
export function portless(protocol: string, given: Partial<Packet> = {}): Packet {
  return packet({ protocol, sourcePort: undefined, destinationPort: undefined, tcpFlags: undefined, ...given });
}

export function icmp(type: number, code: number, given: Partial<Packet> = {}): Packet {
  return portless('ICMP', { icmpType: type, icmpCode: code, ...given });
}

export function observation(given: Partial<PacketObservation> = {}): PacketObservation {
  return {
    kind: 'packet',
    logger: 'netfilter',
    verdict: 'dropped',
    prefix: 'calico-drop:',
    prefixRule: 'calico drop',
    enforcer: 'network-policy',
    policy: undefined,
    inInterface: '',
    outInterface: '',
    physIn: undefined,
    physOut: undefined,
    destinationMac: undefined,
    packet: packet(),
    inner: undefined,
    mtu: undefined,
    mark: undefined,
    uid: undefined,
    repeat: 1,
    ...given,
  };
}

export function line(given: Partial<LogLine> = {}): LogLine {
  return { source: 'kern.log', line: 12, text: '', time: nine, timeIsExact: true, host: 'node-a', ...given };
}

export function podRef(name = 'web-0', namespace = 'shop'): ObjectRef {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: `uid-of-${name}`, resourceVersion: '7' };
}

/** The Service of the Pods with the same name. */
export const postgresService: ObjectRef = {
  apiVersion: 'v1',
  kind: 'Service',
  namespace: 'shop',
  name: 'postgres',
  uid: 'uid-of-postgres',
  resourceVersion: '1',
};

export function nodeRef(name = 'node-a'): ObjectRef {
  return { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid: `uid-of-${name}`, resourceVersion: '3' };
}

export function podEnd(given: Partial<Endpoint> = {}): Endpoint {
  const object = given.object ?? podRef();
  return {
    kind: 'pod',
    address: '10.65.1.4',
    identity: `Pod/${object.namespace}/${object.name}`,
    evidence: 'pod-address',
    object,
    workload: undefined,
    range: 'private',
    node: 'node-a',
    role: undefined,
    note: undefined,
    ...given,
  };
}

/** A Pod of a Deployment, the peer in most tests. */
export function workerEnd(number: number, address = `10.65.2.${number}`): Endpoint {
  const workload = { kind: 'Deployment', namespace: 'batch', name: 'worker' };
  const object = podRef(`worker-${number}`, 'batch');
  return podEnd({ address, object, workload, identity: 'Deployment/batch/worker', node: 'node-b' });
}

export function nodeEnd(name = 'node-a', address = '192.168.7.11'): Endpoint {
  return {
    kind: 'node',
    address,
    identity: `Node/${name}`,
    evidence: 'node-address',
    object: nodeRef(name),
    workload: undefined,
    range: 'private',
    node: name,
    role: undefined,
    note: undefined,
  };
}

export function externalEnd(given: Partial<Endpoint> = {}): Endpoint {
  const address = given.address ?? '203.0.113.9';
  return {
    kind: 'external',
    address,
    identity: address,
    evidence: 'address-range',
    object: undefined,
    workload: undefined,
    range: 'public',
    node: undefined,
    role: undefined,
    note: 'outside the cluster',
    ...given,
  };
}

export function serviceEnd(given: Partial<Endpoint> = {}): Endpoint {
  return {
    kind: 'service',
    address: '10.96.0.80',
    identity: 'Service/shop/api',
    evidence: 'service-address',
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      namespace: 'shop',
      name: 'api',
      uid: 'uid-of-api',
      resourceVersion: '5',
    },
    workload: undefined,
    range: 'private',
    node: undefined,
    role: undefined,
    note: undefined,
    ...given,
  };
}

export function ends(given: Partial<Ends> = {}): Ends {
  return {
    source: podEnd(),
    destination: externalEnd(),
    inner: undefined,
    fromPodInterface: false,
    toPodInterface: false,
    ...given,
  };
}

export function flow(given: Partial<FlowDetails> = {}): FlowDetails {
  return {
    kind: 'flow',
    direction: 'receiving',
    peer: externalEnd(),
    ownAddress: '10.65.1.4',
    ownAddressIsForeign: false,
    protocol: 'TCP',
    port: 5432,
    reply: false,
    laterFragment: false,
    icmpType: undefined,
    icmpCode: undefined,
    error: undefined,
    verdict: 'dropped',
    prefix: '',
    enforcer: 'unknown',
    policy: undefined,
    refusedBy: undefined,
    path: '',
    martian: false,
    ...given,
  };
}

export function finding(given: Partial<Finding> = {}): Finding {
  return {
    identity: 'drop',
    reason: 'PacketDrop',
    type: 'Warning',
    regarding: podRef(),
    related: undefined,
    node: 'node-a',
    details: flow(),
    ...given,
  };
}

/** A finding about a full conntrack table, on the Node. */
export function incident(given: Partial<Finding> = {}): Finding {
  return finding({
    identity: 'incident',
    reason: 'ConntrackTableFull',
    regarding: nodeRef(),
    details: incidentDetails(),
    ...given,
  });
}

/** The details of a full conntrack table that was seen for a minute. */
export function incidentDetails(given: Partial<IncidentDetails> = {}): IncidentDetails {
  return {
    kind: 'incident',
    role: 'full',
    phase: 'open',
    code: 'KN401',
    diagnosis: 'KN401',
    failing: 'kernel',
    failingPod: undefined,
    since: nine,
    last: nine + 60_000,
    failures: 12,
    endedBy: undefined,
    ended: undefined,
    families: [],
    subjects: [],
    moreSubjects: 0,
    restarts: 0,
    quote: 'nf_conntrack: table full, dropping packet',
    services: [],
    moreServices: 0,
    facts: noFacts,
    affected: { count: 0, names: [] },
    ...given,
  };
}

/** Settings of Felix, of which none is set. */
export function felixSettings(given: Partial<FelixSettings> = {}): FelixSettings {
  return {
    bpfEnabled: undefined,
    bpfKubeProxyIptablesCleanupEnabled: undefined,
    logSeverityScreen: undefined,
    iptablesBackend: undefined,
    nftablesMode: undefined,
    bpfFrom: undefined,
    cleanupFrom: undefined,
    ...given,
  };
}

/** No fact could be read. */
export const noFacts: NodeFacts = {
  felix: undefined,
  kubeProxyHere: undefined,
  conntrack: undefined,
  topSources: [],
  backends: {},
  firewallDropsSince: undefined,
};

export function series(given: Partial<Series> = {}): Series {
  return {
    finding: finding(),
    window: 1,
    windowEnd: nine + 3_600_000,
    count: 1,
    first: nine,
    last: nine,
    suppressed: false,
    peers: createDistinctValues(),
    ports: createDistinctValues(),
    published: { count: 0, writes: 0, at: null, suppressed: false, base: 0, resourceVersion: undefined },
    due: nine + 1000,
    ...given,
  };
}

/** The result of an attempt to write a series. */
export function attempt(
  verb: Attempt['verb'],
  result: Attempt['result'],
  of: Series,
  refusal: Attempt['refusal'],
): Attempt {
  return { series: of, verb, result, refusal, packets: 0 };
}
