import { canonicalAddress } from '../platform/address.ts';
import { isKind, isLabel, isOpaqueId, isSubdomain } from '../platform/api-names.ts';
import { at, type Json, list, spelled } from '../platform/json.ts';
import { onSteadyClock } from '../kubernetes/slim.ts';
import type { Endpoint, Workload } from '../model/endpoint.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pod } from '../resolving/objects.ts';
import { isPackedPorts } from '../resolving/pod-ports.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';

/** Pods of one address in an answer: one that has it, and those that had it in the last ten minutes. */
export const podLimit = 8;

/** Addresses of one Pod: each network attachment has one or two. */
const addressLimit = 16;

/** Bytes of an answer; eight Pods with the longest names are about 24 KB. */
export const answerLimit = 65_536;

/** What goes over the wire, of those who have an address or had it: those who have it first, then the latest. */
export function encodeAnswer({ pods, node }: Owners, { toWall }: Pick<Clock, 'toWall'>): string {
  const latest = pods.toSorted((a, b) => Math.sign(b.until - a.until) || b.from - a.from).slice(0, podLimit);
  return JSON.stringify({ node, pods: latest.map((pod) => encodePod(pod, toWall)) });
}

function encodePod(pod: Pod, toWall: Clock['toWall']): Json {
  const { namespace, name, uid, resourceVersion, node, addresses, workload, role, ports } = pod;
  const times = { from: finite(toWall(pod.from)), until: finite(toWall(pod.until)) };
  return { namespace, name, uid, resourceVersion, node, addresses, workload, role, ports, ...times };
}

function finite(time: number): number | undefined {
  return Number.isFinite(time) ? time : undefined;
}

/**
 * An answer as it may be believed: names that an API server would accept, at most as many as are asked for, and of the address that
 * was asked for. Whether there is such a Pod only the API server knows. Throws for anything else.
 */
export function decodeAnswer(text: string, address: string, { fromWall }: Pick<Clock, 'fromWall'>): Owners {
  const answer: Json = JSON.parse(text);
  const pods = at(answer, 'pods');
  if (!Array.isArray(pods)) throw new Error('the answer has no Pods');
  return {
    pods: pods.slice(0, podLimit).flatMap((pod: Json) => {
      const found = decodePod(pod, address);
      return found === undefined ? [] : [onSteadyClock(found, fromWall)];
    }),
    node: spelled(at(answer, 'node'), isSubdomain),
  };
}

function decodePod(pod: Json, address: string): Pod | undefined {
  const namespace = spelled(at(pod, 'namespace'), isLabel);
  const name = spelled(at(pod, 'name'), isSubdomain);
  const uid = spelled(at(pod, 'uid'), isOpaqueId);
  const addresses = list(at(pod, 'addresses'))
    .slice(0, addressLimit)
    .filter((each): each is string => typeof each === 'string' && each !== '' && canonicalAddress(each) === each);
  if (namespace === undefined || name === undefined || uid === undefined || !addresses.includes(address))
    return undefined;
  const until = timeIn(at(pod, 'until')) ?? Infinity;
  const ports = spelled(at(pod, 'ports'), isPackedPorts);
  return {
    namespace,
    name,
    uid,
    resourceVersion: spelled(at(pod, 'resourceVersion'), isOpaqueId),
    node: spelled(at(pod, 'node'), isSubdomain),
    hostNetwork: false,
    addresses,
    workload: workloadIn(at(pod, 'workload'), namespace),
    role: roleIn(at(pod, 'role'), namespace),
    ...(ports !== undefined && { ports }),
    from: timeIn(at(pod, 'from')) ?? -Infinity,
    until,
    running: until === Infinity,
    problem: undefined,
    restarted: undefined,
  };
}

function timeIn(value: Json): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function workloadIn(value: Json, namespace: string): Workload | undefined {
  const kind = spelled(at(value, 'kind'), isKind);
  const name = spelled(at(value, 'name'), isSubdomain);
  return kind === undefined || name === undefined ? undefined : { kind, namespace, name };
}

/** Only namespaces of the system have such Pods: advice must not lead to anybody else's. */
function roleIn(value: Json, namespace: string): Endpoint['role'] {
  if (!/^(?:kube-system|openshift-(?:dns|kube-apiserver))$/.test(namespace)) return undefined;
  return value === 'dns' || value === 'api-server' ? value : undefined;
}
