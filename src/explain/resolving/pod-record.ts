import { type Endpoint, systemNamespaces, type Workload } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { canonicalAddress } from '../../base/platform/address.ts';
import { isKind, isLabel, isOpaqueId, isPortName, isSubdomain } from '../../base/platform/api-names.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { at, type Json, list, spelled } from '../../base/platform/json.ts';
import type { Pod, ServicePort } from './objects.ts';

/** A Pod as plain JSON, with times of the wall clock. */
export interface PodRecord extends Pick<
  Pod,
  'namespace' | 'name' | 'uid' | 'node' | 'addresses' | 'workload' | 'role' | 'ports'
> {
  /** Undefined if it got its addresses before all known times. */
  readonly from: Millis | undefined;
  /** Undefined if it still has them. */
  readonly until: Millis | undefined;
}

/** Each network attachment has one or two. */
const addressLimit = 16;

export function podRecordOf(pod: Pod, toWall: Clock['toWall']): PodRecord {
  const { namespace, name, uid, node, addresses, workload, role, ports } = pod;
  const times = { from: finite(toWall(pod.from)), until: finite(toWall(pod.until)) };
  return { namespace, name, uid, node, addresses: addresses.slice(0, addressLimit), workload, role, ports, ...times };
}

function finite(time: Millis): Millis | undefined {
  return Number.isFinite(time) ? time : undefined;
}

/** Returns undefined if an API server would not accept the names. The Pod may not exist any more. */
export function podFromRecord(record: Json, fromWall: Clock['fromWall']): Pod | undefined {
  const namespace = spelled(at(record, 'namespace'), isLabel);
  const name = spelled(at(record, 'name'), isSubdomain);
  const uid = spelled(at(record, 'uid'), isOpaqueId);
  if (namespace === undefined || name === undefined || uid === undefined) return undefined;
  const until = timeIn(at(record, 'until')) ?? Infinity;
  const ports = spelled(at(record, 'ports'), isPackedPorts);
  const pod: Pod = {
    namespace,
    name,
    uid,
    resourceVersion: spelled(at(record, 'resourceVersion'), isOpaqueId),
    node: spelled(at(record, 'node'), isSubdomain),
    hostNetwork: false,
    addresses: list(at(record, 'addresses'))
      .slice(0, addressLimit)
      .filter((each): each is string => typeof each === 'string' && each !== '' && canonicalAddress(each) === each),
    workload: workloadIn(at(record, 'workload'), namespace),
    role: roleIn(at(record, 'role'), namespace),
    ...(ports !== undefined && { ports }),
    from: timeIn(at(record, 'from')) ?? -Infinity,
    until,
    running: until === Infinity,
    problem: undefined,
    restarted: undefined,
  };
  return onSteadyClock(pod, fromWall);
}

/** Converts the Pod's times in place, from the wall clock of the API server to the steady clock of packets and lists. */
export function onSteadyClock(pod: Pod, fromWall: (stamp: Millis) => Millis): Pod {
  const { from, until, restarted } = pod;
  return Object.assign(pod, {
    from: fromWall(from),
    until: fromWall(until),
    restarted: restarted === undefined ? undefined : fromWall(restarted),
  });
}

function timeIn(value: Json): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function workloadIn(value: Json, namespace: string): Workload | undefined {
  const kind = spelled(at(value, 'kind'), isKind);
  const name = spelled(at(value, 'name'), isSubdomain);
  return kind === undefined || name === undefined ? undefined : { kind, namespace, name };
}

/** Only Pods of system Namespaces have a role, because advice must not point to other Pods. */
function roleIn(value: Json, namespace: string): Endpoint['role'] {
  if (!systemNamespaces.has(namespace)) return undefined;
  return value === 'dns' || value === 'api-server' ? value : undefined;
}

const most = 16;

/** Packs ports into one text, `,http=80/tcp,metrics=9090/tcp,`, which takes less memory than a list of objects. */
export function packPorts(ports: readonly ServicePort[]): string | undefined {
  const parts = new Set(ports.map(({ name, port, protocol }) => `${name}=${port}/${protocol}`));
  return parts.size === 0 ? undefined : `,${[...parts].slice(0, most).join(',')},`;
}

export function isPackedPorts(text: string): boolean {
  const [first, ...parts] = text.split(',', most + 3);
  const last = parts.pop();
  return first === '' && last === '' && parts.length > 0 && parts.length <= most && parts.every(isPackedPort);
}

function isPackedPort(part: string): boolean {
  const [, name = '', port] = /^([^=]*)=(\d{1,5})\/(?:tcp|udp|sctp)$/.exec(part) ?? [];
  return isPortName(name) && Number(port) >= 1 && Number(port) <= 65_535;
}

export function packedName(packed: string, port: number, protocol: string): string | undefined {
  const end = packed.indexOf(`=${port}/${protocol},`);
  return end < 0 ? undefined : packed.slice(packed.lastIndexOf(',', end) + 1, end);
}
