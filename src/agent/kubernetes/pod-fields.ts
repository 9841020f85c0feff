import type { Millis } from '../../base/model/log-line.ts';
import {
  createInterner,
  mostServicePorts,
  packPorts,
  type Pod,
  type ServicePort,
} from '../../explain/resolving/resolving.ts';
import { at, instant, type Json, list, spelled, text } from '../../base/platform/json.ts';
import { isLabel, isPortName } from '../../base/platform/api-names.ts';
import { type Endpoint, systemNamespaces } from '../../base/model/endpoint.ts';

/** A Pod without the condition `Ready` counts as ready. */
export function healthOf(object: Json): Pick<Pod, 'running' | 'problem' | 'restarted'> {
  const phase = at(object, 'status', 'phase');
  const running = phase !== 'Succeeded' && phase !== 'Failed';
  const containers = containersOf(object);
  return {
    running,
    problem: !running
      ? undefined
      : containers.some(isRestarting)
        ? 'restarting'
        : isUnready(object)
          ? 'unready'
          : undefined,
    restarted: running ? lastEnd(containers, 'lastState') : undefined,
  };
}

/** An init container that has succeeded is not restarting. */
function isRestarting(container: Json): boolean {
  if (at(container, 'state', 'waiting', 'reason') === 'CrashLoopBackOff') return true;
  const restarts = at(container, 'restartCount');
  if (typeof restarts !== 'number' || restarts === 0) return false;
  const exitCode = at(container, 'state', 'terminated', 'exitCode');
  return at(container, 'state', 'waiting') !== undefined || (typeof exitCode === 'number' && exitCode !== 0);
}

function isUnready(object: Json): boolean {
  const phase = at(object, 'status', 'phase');
  const isStarted = phase === 'Running' || (phase === 'Pending' && text(at(object, 'status', 'podIP')) !== undefined);
  // A Pod that is being deleted is unready on purpose.
  if (!isStarted || at(object, 'metadata', 'deletionTimestamp') !== undefined) return false;
  const condition = list(at(object, 'status', 'conditions')).find((each) => at(each, 'type') === 'Ready');
  return condition !== undefined && at(condition, 'status') !== 'True';
}

export function containersOf(pod: Json): Json[] {
  return [...list(at(pod, 'status', 'containerStatuses')), ...list(at(pod, 'status', 'initContainerStatuses'))];
}

export function lastEnd(containers: Json[], run: 'state' | 'lastState'): Millis | undefined {
  const ends = containers.flatMap((each) => instant(at(each, run, 'terminated', 'finishedAt')) ?? []);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** The most ports that are read of a Pod, because its creator may add thousands. */
const mostPodPorts = 128;

/** Invalid ports do not count, so that a list with fewer than the most ports has all valid ones. */
export function slimPorts(value: Json): readonly ServicePort[] {
  const found = portsIn(list(value), 'port', isLabel).take(mostServicePorts).toArray();
  return internPorts(JSON.stringify(found), found);
}

const internPorts = createInterner<readonly ServicePort[]>();

/** Packs the named ports of containers and sidecars. Names are checked, because a saved list may contain anything. */
export function podPorts(pod: Json): string | undefined {
  const sidecars = list(at(pod, 'spec', 'initContainers')).filter((each) => at(each, 'restartPolicy') === 'Always');
  const containers = [...list(at(pod, 'spec', 'containers')), ...sidecars];
  const ports = containers.flatMap((each) => list(at(each, 'ports'))).slice(0, mostPodPorts);
  const named = portsIn(ports, 'containerPort', isPortName).filter(({ name }) => name !== '');
  return packPorts(named.toArray());
}

function* portsIn(ports: readonly Json[], number: string, isName: (text: string) => boolean): Generator<ServicePort> {
  for (const each of ports) {
    const port = at(each, number);
    const protocol = (text(at(each, 'protocol')) ?? 'TCP').toLowerCase();
    if (typeof port === 'number' && isServiceProtocol(protocol))
      yield { name: spelled(at(each, 'name'), isName) ?? '', port, protocol };
  }
}

function isServiceProtocol(protocol: string): protocol is ServicePort['protocol'] {
  return protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp';
}

export function podRole(namespace: string, labels: Record<string, string>): Endpoint['role'] {
  if (!systemNamespaces.has(namespace)) return undefined;
  if (labels['component'] === 'kube-apiserver') return 'api-server';
  const isDns = /^(?:kube-dns|coredns|node-local-dns)$/.test(labels['k8s-app'] ?? '');
  return isDns || 'dns.operator.openshift.io/daemonset-dns' in labels ? 'dns' : undefined;
}

export function serviceRole(namespace: string, name: string): Endpoint['role'] {
  if (namespace === 'default' && name === 'kubernetes') return 'api-server';
  if (!systemNamespaces.has(namespace)) return undefined;
  return /^(?:kube-dns|coredns|rke2-coredns-rke2-coredns|dns-default)$/.test(name) ? 'dns' : undefined;
}
