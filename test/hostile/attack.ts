import type { Millis } from '../../src/base/model/log-line.ts';

/**
 * An attack of a tenant: one row of the table that a run prints. Everything that it writes contains the word of
 * words.ts.
 */
export interface Attack {
  /** As `--attacks` names it. */
  readonly name: string;
  /** The objects that exist before the agent starts, which it must list. */
  readonly prepare?: (tenant: Tenant) => Promise<void>;
  /** The actions while the honest tenant loses packets. They end soon after `tenant.isOver`. */
  readonly play?: (tenant: Tenant) => Promise<void>;
  /** The agent is killed during the attack, and started again with its state. */
  readonly killsAgent?: true;
}

/** Kinds of objects that a tenant may write in its own Namespaces. */
export const resources = {
  pods: '/api/v1',
  services: '/api/v1',
  endpoints: '/api/v1',
  serviceaccounts: '/api/v1',
  configmaps: '/api/v1',
  events: '/api/v1',
  endpointslices: '/apis/discovery.k8s.io/v1',
  networkpolicies: '/apis/networking.k8s.io/v1',
  deployments: '/apis/apps/v1',
  jobs: '/apis/batch/v1',
  calicoPolicies: '/apis/crd.projectcalico.org/v1',
  networksets: '/apis/crd.projectcalico.org/v1',
  ciliumnetworkpolicies: '/apis/cilium.io/v2',
} as const;

export type Resource = keyof typeof resources;

export interface TenantObject {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** Random numbers and choices that follow from the seed of the run. */
export interface Chance {
  /** From 0 up to `end`, `end` excluded. */
  readonly number: (end: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
}

/** What every tenant of the cluster knows of the others, including the attacker. */
export interface Targets {
  readonly node: string;
  readonly otherNode: string;
  /** Addresses that belong to the honest tenant, to nodes, to the cluster, or to nobody. */
  readonly addresses: readonly string[];
  readonly honestNamespaces: readonly string[];
  /** Pods of the honest tenant, as `NAMESPACE/NAME`. */
  readonly honestPods: readonly string[];
}

/**
 * The attacker: it has the rights of the ClusterRole `admin` in its own Namespaces, Pods on the node, and a place on
 * the Pod network.
 */
export interface Tenant {
  readonly namespaces: readonly string[];
  readonly chance: Chance;
  readonly targets: Targets;
  /** The addresses of the agent's two listeners, as `HOST:PORT`. */
  readonly listeners: { readonly metrics: string; readonly health: string };
  readonly isOver: boolean;
  /** Resolves after this time, or at the end of the round. */
  readonly wait: (duration: Millis) => Promise<void>;
  /** Creates an object, or replaces the one with that name. Resolves to the status of the answer. */
  readonly put: (resource: Resource, namespace: string, object: TenantObject) => Promise<number>;
  readonly remove: (resource: Resource, namespace: string, name: string) => Promise<void>;
  /** Removes all objects of that kind in its Namespaces, by one request for each Namespace. */
  readonly removeAll: (resource: Resource) => Promise<void>;
  /**
   * Creates `count` objects, or fewer if that takes longer than a preparation may. `namespace`: by default, each of its
   * own in turn.
   */
  readonly fill: (
    resource: Resource,
    count: number,
    make: (index: number) => TenantObject,
    namespace?: string,
  ) => Promise<void>;
  /**
   * Makes Pods that run on the agent's node, with addresses of the tenant's own; the kubelet's part is written for it.
   */
  readonly runPods: (count: number, make?: (index: number) => TenantObject) => Promise<readonly TenantPod[]>;
  /** Appends lines of the kernel to the node's log. */
  readonly log: (...lines: readonly string[]) => void;
  /** The folder with the container logs of the node, where each of the tenant's containers may write its own log. */
  readonly podLogs: string;
}

export interface TenantPod {
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  /** The device that Calico would make for it. */
  readonly device: string;
}
