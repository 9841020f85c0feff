import type { Endpoint, Millis, Workload } from '../model.ts';

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
  /** It held its addresses from `from` until before `until` (Infinity while it runs). */
  from: Millis;
  until: Millis;
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
}

/** What is known of a cluster, from wherever. */
export interface ClusterObjects {
  pods: Pod[];
  nodes: Node[];
  services: Service[];
  /** Names only. */
  namespaces: string[];
}
