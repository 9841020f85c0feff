/** The content of an Event about a failure of a node that lasts. Plain data: it can be written as JSON and read back unchanged. */
import type { ObjectRef } from './endpoint.ts';
import type { Millis } from './log-line.ts';
import type { Failing } from './program-record.ts';

/** A Service and the ports of it whose chains were named. */
export interface NamedService {
  object: ObjectRef;
  /** `https`, or the number where it has no name. */
  ports: string[];
  /** `shop/db-0 on node-b`: Pods behind it, the first few. */
  backends: string[];
  moreBackends: number;
  /** The Service had been deleted when its chain was named. */
  deleted: boolean;
}

/** FelixConfiguration for one node: fields of `node.<name>` override `default`. Undefined fields are not set or invalid. */
export interface FelixSettings {
  bpfEnabled: boolean | undefined;
  bpfKubeProxyIptablesCleanupEnabled: boolean | undefined;
  logSeverityScreen: string | undefined;
  iptablesBackend: string | undefined;
  nftablesMode: string | undefined;
  /** Names of the objects that `bpfEnabled` and `bpfKubeProxyIptablesCleanupEnabled` are from. */
  bpfFrom: string | undefined;
  cleanupFrom: string | undefined;
}

/** Facts about an incident beside its lines. Each is undefined if it could not be read. */
export interface NodeFacts {
  felix:
    | { kind: 'settings'; settings: FelixSettings }
    /** No Calico, or none that is configured through the API. */
    | { kind: 'absent' }
    | { kind: 'unreadable'; reason: 'forbidden' | 'failed' }
    | undefined;
  /** Whether felix can use eBPF here, by its log or by the kernel's version. If not, felix ignores its setting. */
  ebpf?: boolean | undefined;
  kubeProxyHere: boolean | undefined;
  conntrack: { count: number | undefined; max: number | undefined } | undefined;
  /** The sources that hold most of the connection tracking table, most first: `shop/crawler-0 (10.244.0.7)`. */
  topSources: readonly { name: string; connections: number }[];
  /** The backends of iptables that programs of this node were seen to use in the last hour. */
  backends: Readonly<Partial<Record<Failing, 'legacy' | 'nf_tables'>>>;
  /** uid of the Pod, if the incident concerns only its network namespace; null if that Pod is unknown. */
  namespacePod?: string | null | undefined;
  /** The time at which the host's firewall began to drop, if that was near the beginning of the incident. */
  firewallDropsSince: Millis | undefined;
}

export interface IncidentDetails {
  kind: 'incident';
  /** `full`: on the failing Pod, the Node and Services; `pod-notice`, or another word in older state files: short, on a Pod that is affected. */
  role: 'full' | 'pod-notice';
  phase: 'open' | 'over';
  /** The cause that the lines show; `diagnosis` is the one that facts point to. Both are rows of the catalogue. */
  code: string;
  diagnosis: string;
  failing: Failing;
  /** `kube-system/kube-proxy-x7k2p`; undefined for the kernel. */
  failingPod: string | undefined;
  since: Millis;
  last: Millis;
  failures: number;
  /** What showed that it is over. */
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
  /** Pods that are affected: how many there are, and the first few by name, those that are unready or restarting first. */
  affected: { count: number; names: string[] };
}

/** The owner of one of kube-proxy's chains, and the endpoints of a Service. Plain data. */
export interface ChainOwner {
  /** `uid` is empty where the Service is known by the chain's name, or by its EndpointSlices, only. */
  service: ObjectRef;
  /** Name, or number where it has none; '' for one without a name of a Service that is not known. */
  port: string;
  /** The Service is gone. */
  deleted: boolean;
}

/** An endpoint of a Service. */
export interface Backend {
  pod: { namespace: string; name: string } | undefined;
  /** Canonical. */
  address: string;
  node: string | undefined;
  ready: boolean;
}

export interface ServiceChains {
  /** Undefined for chains that are of no known Service. */
  ownerOf: (chain: string) => ChainOwner | undefined;
  /** Endpoints as far as EndpointSlices are known, ready or not. */
  backendsOf: (namespace: string, name: string) => readonly Backend[];
}
