import type { Endpoint, Workload } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';

/** The few fields of a Pod that are kept: with thousands of Pods on every node, each byte counts. */
export interface Pod {
  namespace: string;
  name: string;
  /** As Events must name it: for a mirror Pod that is the hash in its annotation, not `metadata.uid`. */
  uid: string;
  resourceVersion: string | undefined;
  node: string | undefined;
  hostNetwork: boolean;
  /** Canonical, all families. */
  addresses: string[];
  workload: Workload | undefined;
  role: Endpoint['role'];
  /** Those that were asked for, `app=web,team=shop`. */
  labels?: string | undefined;
  /** Those with a name, as `packPorts` writes them. */
  ports?: string | undefined;
  /** It held its addresses from `from` until before `until` (Infinity while it runs). */
  from: Millis;
  until: Millis;
  /** Neither Succeeded nor Failed. */
  running: boolean;
  /** A container is not there and was restarted before, or it runs and is not ready. A recent restart is `restarted`. */
  problem: 'restarting' | 'unready' | undefined;
  /** When a container that was started again had ended last. */
  restarted: Millis | undefined;
}

export interface Node {
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  /** Canonical: internal, external and tunnel addresses. */
  addresses: string[];
  /** CIDR notation. */
  podRanges: string[];
  /** Other names its log lines may carry. */
  hostNames: string[];
}

export interface Service {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  /** Canonical: cluster, external and load balancer addresses. */
  addresses: string[];
  role: Endpoint['role'];
  ports: readonly ServicePort[];
}

export type ServiceProtocol = 'tcp' | 'udp' | 'sctp';

export interface ServicePort {
  /** '' for the only port of a Service, if it has none. */
  name: string;
  /** Of a Service its own, of an EndpointSlice that of its endpoints, of a Pod that of a container. */
  port: number;
  protocol: ServiceProtocol;
}

export interface EndpointSlice {
  namespace: string;
  name: string;
  resourceVersion: string | undefined;
  /** In the same namespace; '' where it is no Service's. */
  service: string;
  ports: readonly ServicePort[];
  /** As `packEndpoints` writes them. */
  endpoints: string;
}

/** What is known of a cluster, from wherever. */
export interface ClusterObjects {
  pods: Pod[];
  nodes: Node[];
  services: Service[];
  endpointSlices: EndpointSlice[];
  /** Names only. */
  namespaces: string[];
}

export function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** For the plain data above, with the fields in the same order. */
export function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
