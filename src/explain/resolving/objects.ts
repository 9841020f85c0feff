import { LRUCache } from 'lru-cache';
import { type Endpoint, type ObjectRef, podRef, type Workload } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Failing } from '../../base/model/program-record.ts';
import type { Backend } from '../../base/model/incident.ts';
import { type Bytes, weightOf, weightOfText } from '../../base/platform/weight.ts';

/** The fields of a Pod that are kept. Each byte counts, because every node may keep thousands of Pods. */
export interface Pod {
  namespace: string;
  name: string;
  /** The uid for Events. For a mirror Pod that is the hash in its annotation, not `metadata.uid`. */
  uid: string;
  resourceVersion: string | undefined;
  node: string | undefined;
  hostNetwork: boolean;
  /** The addresses in canonical form, of all families. */
  addresses: string[];
  workload: Workload | undefined;
  role: Endpoint['role'];
  /** The labels that the settings ask for, `app=web,team=shop`. */
  labels?: string | undefined;
  /** The named ports, in the form of `packPorts`. */
  ports?: string | undefined;
  /** The fields of a Pod of this node that policies use, as JSON: its labels, ports and account. Undefined if they are long. */
  policyView?: string | undefined;
  /** When the Pod got its addresses; the next field: when it lost them, Infinity while it runs. */
  from: Millis;
  until: Millis;
  running: boolean;
  /** `restarting`: a container that has restarted before is not running. `unready`: a container runs, but is not ready. */
  problem: 'restarting' | 'unready' | undefined;
  /** The last end of a container that was started again. */
  restarted: Millis | undefined;
}

export interface Node {
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  /** The internal and external addresses of its status, in canonical form. */
  addresses: string[];
  /** The addresses of its annotations: of tunnels, and of the network plug-in. */
  annotated?: string[];
  /** In CIDR notation. */
  podRanges: string[];
  hostNames: string[];
}

export interface Service {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  /** The addresses that the API server allocates (`clusterIPs`), in canonical form. */
  addresses: string[];
  /** Those of load balancers, and `externalIPs`. kube-proxy leads them to endpoints within the node, even if others have them. */
  published?: string[];
  role: Endpoint['role'];
  ports: readonly ServicePort[];
}

export type ServiceProtocol = 'tcp' | 'udp' | 'sctp';

export interface ServicePort {
  /** '' if it is the only port of a Service and has no name. */
  name: string;
  /** The port of a Service, of the endpoints in a slice, or of a container. */
  port: number;
  protocol: ServiceProtocol;
}

export interface EndpointSlice {
  namespace: string;
  name: string;
  resourceVersion: string | undefined;
  /** The Service, which is in the same Namespace; '' if the slice belongs to no Service. */
  service: string;
  ports: readonly ServicePort[];
  /** In the form of `packEndpoints`. */
  endpoints: string;
}

export interface ClusterObjects {
  pods: Pod[];
  nodes: Node[];
  services: Service[];
  endpointSlices: EndpointSlice[];
  namespaces: string[];
}

export function namespacedName(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Compares plain data whose fields have the same order. */
export function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export interface Owner {
  kind: string;
  name: string;
}

/** A Deployment is recognized by the Pod's template hash (`web-6c8d5f7b94`), a CronJob by the time in a Job's name (`report-29920440`). */
export function workloadOf(
  namespace: string,
  owner: Owner | undefined,
  labels: Record<string, string>,
): Workload | undefined {
  // The owner of a static Pod is its Node, which is not a workload.
  if (owner === undefined || owner.kind === 'Node') return undefined;
  if (owner.kind === 'ReplicaSet') {
    // Argo Rollouts uses a label key of its own.
    for (const [label, kind] of [
      ['pod-template-hash', 'Deployment'],
      ['rollouts-pod-template-hash', 'Rollout'],
    ] as const) {
      const hash = labels[label];
      if (hash !== undefined && owner.name.endsWith(`-${hash}`))
        return { kind, namespace, name: owner.name.slice(0, -hash.length - 1) };
    }
  }
  if (owner.kind === 'Job') {
    // Since Kubernetes 1.21 a Job's name has the minutes since 1970 (8 digits), before that the seconds (10 digits).
    const run = /^(.+)-(?:\d{8}|\d{10})$/.exec(owner.name);
    if (run) return { kind: 'CronJob', namespace, name: run[1] ?? owner.name };
  }
  return { kind: owner.kind, namespace, name: owner.name };
}

/** Finds the Pod of a failing program by the names that installers use, among the few Pods on the host's network. */
export function podOfProgram(failing: Failing, pods: readonly Pod[]): ObjectRef | undefined {
  const name = failing === 'kube-proxy' ? 'kube-proxy' : partsOfCalicoNode.has(failing) ? 'calico-node' : undefined;
  if (name === undefined) return undefined;
  const pod = pods.find(
    (each) => each.hostNetwork && each.until === Infinity && (each.name === name || each.name.startsWith(`${name}-`)),
  );
  return pod === undefined ? undefined : podRef(pod);
}

const partsOfCalicoNode: ReadonlySet<Failing> = new Set<Failing>(['felix', 'confd', 'bird', 'calico-node']);

/** The most values that an interner keeps, including those of deleted objects. */
const mostInterned: Bytes = 2 * 1024 * 1024;

const bytesOfEntry: Bytes = 120;

/** Shares equal values, because JSON.parse makes copies. */
export function createInterner<T extends {}>(): (key: string, value: T) => T {
  const known = new LRUCache<string, T>({
    maxSize: mostInterned,
    sizeCalculation: (value, key) => bytesOfEntry + weightOfText(key) + weightOf(value),
  });
  return (key, value) => {
    const first = known.get(key);
    if (first === undefined) known.set(key, value);
    return first ?? value;
  };
}

type EndpointTuple = [
  address: string,
  namespace: string | null,
  pod: string | null,
  node: string | null,
  ready: boolean,
  isDraining?: true,
];

/** Packs endpoints into one text, because a slice may have a thousand of them. */
export function packEndpoints(endpoints: readonly Backend[]): string {
  return JSON.stringify(endpoints.map(tupleOf));
}

function tupleOf({ address, pod, node, ready, isDraining }: Backend): EndpointTuple {
  const tuple: EndpointTuple = [address, pod?.namespace ?? null, pod?.name ?? null, node ?? null, ready];
  if (isDraining) tuple.push(true);
  return tuple;
}

export function endpointsIn({ endpoints }: Pick<EndpointSlice, 'endpoints'>): Backend[] {
  return (JSON.parse(endpoints) as EndpointTuple[]).map(backendOf);
}

function backendOf([address, namespace, pod, node, ready, isDraining]: EndpointTuple): Backend {
  const backend: Backend = {
    address,
    pod: namespace === null || pod === null ? undefined : { namespace, name: pod },
    node: node ?? undefined,
    ready,
  };
  if (isDraining) backend.isDraining = true;
  return backend;
}

/** The most ports that are kept of a Service or a slice, because its creator may add thousands. */
export const mostServicePorts = 16;

/** Returns whether the Service or slice may have ports that are not kept. */
export function mayHaveMorePorts({ ports }: Pick<Service | EndpointSlice, 'ports'>): boolean {
  return ports.length >= mostServicePorts;
}

/** An endpoint of a Service's port. */
export interface ServiceTarget {
  address: string;
  port: number;
}

/** The most slices that are searched for a connection: 1,600 endpoints as the control plane writes them. */
const mostSlices = 16;

/** A Service's ports, and its slices; undefined if not all of these are known. */
export interface ServiceParts {
  readonly ports: Service['ports'];
  readonly slices: Iterable<EndpointSlice> | undefined;
}

/** The endpoints that a connection to Services may get to. */
export interface PossibleTargets {
  /** Each one that is ready, or still serves while it terminates. */
  all: ServiceTarget[];
  isAnyReady: boolean;
}

/**
 * Returns the endpoints behind an address and a port of Services over TCP; undefined if they are more than `most`, in too many slices, or
 * not all known. Endpoints are of the same family.
 */
export function targetsIn(
  services: readonly ServiceParts[],
  { address: to, port }: ServiceTarget,
  most: number,
): PossibleTargets | undefined {
  const isSix = to.includes(':');
  const targets: PossibleTargets = { all: [], isAnyReady: false };
  let looked = 0;
  for (const { ports, slices } of services) {
    const named = tcpPort(ports, port);
    if (named === undefined) continue;
    if (slices === undefined) return undefined;
    for (const slice of slices) {
      const target = slice.ports.find(({ name, protocol }) => name === named.name && protocol === 'tcp');
      if (target === undefined) {
        if (mayHaveMorePorts(slice)) return undefined;
        continue;
      }
      if (++looked > mostSlices) return undefined;
      for (const { address, ready } of servingIn(slice)) {
        if (address.includes(':') !== isSix) continue;
        targets.all.push({ address, port: target.port });
        targets.isAnyReady ||= ready;
      }
      if (targets.all.length > most) return undefined;
    }
  }
  return targets;
}

export function tcpPort(ports: Service['ports'], port: number): ServicePort | undefined {
  return ports.find((each) => each.port === port && each.protocol === 'tcp');
}

/** The first endpoints that serve of each slice that was asked for. A tenant's slice may have a thousand endpoints, which take 2 ms. */
const servingEndpoints = new WeakMap<EndpointSlice, readonly Pick<Backend, 'address' | 'ready'>[]>();

const mostServing = 32;

function servingIn(slice: EndpointSlice): readonly Pick<Backend, 'address' | 'ready'>[] {
  let serving = servingEndpoints.get(slice);
  if (serving === undefined) {
    serving = endpointsIn(slice)
      .flatMap(({ address, ready, isDraining }) => (ready || isDraining === true ? { address, ready } : []))
      .slice(0, mostServing);
    servingEndpoints.set(slice, serving);
  }
  return serving;
}

/** Returns each Pod once, because each family and each set of ports has its own slice. A Pod that is ready in one slice counts as ready. */
export function backendsIn(slices: Iterable<EndpointSlice>): Backend[] {
  const found = new Map<string, Backend>();
  for (const slice of slices) {
    for (const backend of endpointsIn(slice)) {
      const { pod, address, ready } = backend;
      const key = pod ? `${pod.namespace}/${pod.name}` : address;
      const known = found.get(key);
      if (known === undefined) found.set(key, backend);
      else if (ready) known.ready = true;
    }
  }
  return [...found.values()];
}
