/** Lets public test suites of other projects ask this evaluator, in their own form of a cluster and a connection. */
import type { End, Evaluator, Labels, PolicyFlow, PolicyPod } from '../../../src/explain/policies/policies.ts';
import { isIPv6 } from '../../../src/base/platform/address.ts';
import { evaluator, namespace } from './objects.ts';

interface JudgePod {
  namespace: string;
  name: string;
  labels: Labels;
  ip: string;
  hostNetwork?: boolean;
  containers: { port: number; protocol: string; portName?: string }[];
}

interface JudgeCluster {
  namespaces: Record<string, Labels>;
  networkPolicies: object[];
  adminNetworkPolicies: object[];
  baselineAdminNetworkPolicies: object[];
  clusterNetworkPolicies: object[];
}

interface JudgeFlow {
  source: JudgePod | { ip: string };
  destination: JudgePod | { ip: string };
  protocol: string;
  port: number;
}

const evaluators = new WeakMap<object, Evaluator>();
const pods = new WeakMap<object, PolicyPod>();

export function evaluate(cluster: JudgeCluster, flow: JudgeFlow): { ingress: boolean; egress: boolean } {
  // Some suites pass the same cluster as a new object, but with the same lists of policies.
  const key = cluster.clusterNetworkPolicies.length > 0 ? cluster.clusterNetworkPolicies : cluster;
  const found = evaluators.get(key) ?? evaluatorOf(cluster);
  evaluators.set(key, found);
  const { source, destination } = flow;
  const connection: PolicyFlow = {
    ...flow,
    source: endOf(source, destination.ip),
    destination: endOf(destination, source.ip),
  };
  const [ingress, egress] = [found.verdict(connection, 'ingress'), found.verdict(connection, 'egress')];
  for (const { outcome, missing } of [ingress, egress])
    if (outcome === 'unknown') throw new Error(`unknown: ${missing.join(', ')}`);
  return { ingress: ingress.outcome === 'admits', egress: egress.outcome === 'admits' };
}

function evaluatorOf(cluster: JudgeCluster): Evaluator {
  const { networkPolicies, adminNetworkPolicies, baselineAdminNetworkPolicies, clusterNetworkPolicies } = cluster;
  return evaluator(
    [...networkPolicies, ...adminNetworkPolicies, ...baselineAdminNetworkPolicies, ...clusterNetworkPolicies],
    Object.entries(cluster.namespaces).map(([name, labels]) => namespace(name, labels)),
  );
}

/** A suite also connects ends of different address families. The Pod then uses an address that the suite does not name. */
function endOf(end: JudgeFlow['source'], other: string): End {
  if (!('name' in end)) return { kind: 'external', address: end.ip };
  return { kind: 'pod', pod: podOf(end), address: isIPv6(end.ip) === isIPv6(other) ? end.ip : undefined };
}

function podOf(end: JudgePod): PolicyPod {
  const known = pods.get(end);
  if (known !== undefined) return known;
  const { namespace: namespaceName, name, labels, ip, hostNetwork = false, containers } = end;
  const made: PolicyPod = {
    namespace: namespaceName,
    name,
    labels,
    addresses: [ip],
    node: undefined,
    hostNetwork,
    completed: false,
    ports: containers.flatMap(({ port, protocol, portName }) =>
      portName === undefined ? [] : [{ name: portName, port, protocol }],
    ),
  };
  pods.set(end, made);
  return made;
}
