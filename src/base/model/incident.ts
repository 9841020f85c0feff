/** The content of an Event about a lasting failure of a node. Plain data: it can be written as JSON and read back unchanged. */
import type { ObjectRef } from './endpoint.ts';
import type { Millis } from './log-line.ts';
import type { Failing } from './program-record.ts';

/** A Service, and those of its ports whose chains were named. */
export interface NamedService {
  object: ObjectRef;
  /** The names of the ports, such as `https`; the number of a port without a name. */
  ports: string[];
  /** The first few Pods behind it: `shop/db-0 on node-b`. */
  backends: string[];
  moreBackends: number;
  deleted: boolean;
}

/** FelixConfiguration for one node: `node.<name>` overrides fields of `default`. A field is undefined if it is not set or invalid. */
export interface FelixSettings {
  bpfEnabled: boolean | undefined;
  bpfKubeProxyIptablesCleanupEnabled: boolean | undefined;
  logSeverityScreen: string | undefined;
  iptablesBackend: string | undefined;
  nftablesMode: string | undefined;
  /** The objects that set `bpfEnabled` and `bpfKubeProxyIptablesCleanupEnabled`. */
  bpfFrom: string | undefined;
  cleanupFrom: string | undefined;
}

/** Facts about an incident apart from its lines. A fact is undefined if it could not be read. */
export interface NodeFacts {
  felix:
    | { kind: 'settings'; settings: FelixSettings }
    /** There is no Calico, or none that is configured through the API. */
    | { kind: 'absent' }
    | { kind: 'unreadable'; reason: 'forbidden' | 'failed' }
    | undefined;
  /** Whether felix can use eBPF here, by its log or by the kernel's version. If not, felix ignores its setting. */
  ebpf?: boolean | undefined;
  kubeProxyHere: boolean | undefined;
  conntrack: { count: number | undefined; max: number | undefined } | undefined;
  /** The sources with the most connections in the table, most first: `shop/crawler-0 (10.244.0.7)`. */
  topSources: readonly { name: string; connections: number }[];
  /** The iptables backends that programs of this node have used in the last hour. */
  backends: Readonly<Partial<Record<Failing, 'legacy' | 'nf_tables'>>>;
  /** The uid of the Pod, if the incident concerns only its network namespace; null if that Pod is not known. */
  namespacePod?: string | null | undefined;
  /** When the host's firewall began to drop packets, if that was near the beginning of the incident. */
  firewallDropsSince: Millis | undefined;
}

export interface IncidentDetails {
  kind: 'incident';
  /** `full`: with all details, on the failing Pod, the Node and Services. `pod-notice`: a short one on an affected Pod. */
  role: 'full' | 'pod-notice';
  phase: 'open' | 'over';
  /** The cause that the lines show. `diagnosis` is the cause that the facts show. Both are rows of the catalogue. */
  code: string;
  diagnosis: string;
  failing: Failing;
  /** Such as `kube-system/kube-proxy-x7k2p`; undefined for the kernel. */
  failingPod: string | undefined;
  since: Millis;
  last: Millis;
  failures: number;
  endedBy: 'success' | 'silence' | undefined;
  ended: Millis | undefined;
  families: string[];
  subjects: string[];
  moreSubjects: number;
  restarts: number;
  quote: string;
  services: NamedService[];
  moreServices: number;
  facts: NodeFacts;
  /** `names`: the first few; Pods that restart or are unready come first. */
  affected: { count: number; names: string[] };
}

/** The owner of one of kube-proxy's chains. Plain data. */
export interface ChainOwner {
  /** `uid` is empty if the Service is known only by the chain's name, or by its EndpointSlices. */
  service: ObjectRef;
  /** The name of the port, or its number if it has none. '' for a port without a name of an unknown Service. */
  port: string;
  deleted: boolean;
}

export interface Backend {
  pod: { namespace: string; name: string } | undefined;
  /** The address in canonical form. */
  address: string;
  node: string | undefined;
  ready: boolean;
  /** Whether it still serves while it terminates. kube-proxy uses such endpoints if no other is ready. */
  isDraining?: true;
}

export interface ServiceChains {
  ownerOf: (chain: string) => ChainOwner | undefined;
  /** Returns the endpoints that are known from EndpointSlices, ready or not. */
  backendsOf: (namespace: string, name: string) => readonly Backend[];
}
