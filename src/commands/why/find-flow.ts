/** Finds the two ends that `why` is asked about. */
import { suggest } from '../../config/suggest.ts';
import { isIPv6 } from '../../platform/address.ts';
import type { End, Flow } from '../../policies/policies.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import { type KnownObjects, WhyError } from './known-objects.ts';

/** Throws a `WhyError`. Of a Pod with addresses of both families, that of the other end's family counts. */
export function findFlow({ from, to, port, protocol, files }: WhyOptions, objects: KnownObjects): Flow {
  const [source, destination] = [findEnd('--from', from, objects, files), findEnd('--to', to, objects, files)];
  return {
    source: withFamily(source, destination),
    destination: withFamily(destination, source),
    protocol,
    port,
  };
}

/** Names of other Pods are known from files alone; from a cluster only the two are read. */
function findEnd(option: string, end: NamedEnd, objects: KnownObjects, files: readonly string[]): End {
  const { pods, nodes, services, complete } = objects;
  if (end.kind === 'pod') {
    const shown = `${option} ${end.namespace}/${end.name}`;
    const pod = pods.get(`${end.namespace}/${end.name}`);
    if (pod === undefined)
      throw new WhyError(`${shown}: there is no such Pod${files.length === 0 ? '' : hintFor(end, pods)}`);
    if (pod.completed) throw new WhyError(`${shown}: the Pod has completed`);
    return { kind: 'pod', pod, address: pod.addresses[0] };
  }
  const { address } = end;
  const service = services.get(address);
  if (service !== undefined)
    throw new WhyError(
      `${option} ${address}: is of the Service ${service}; policies see the Pod behind it, so name one`,
    );
  for (const node of nodes.values()) if (node.addresses.includes(address)) return { kind: 'node', node, address };
  for (const pod of pods.values())
    if (!pod.completed && !pod.hostNetwork && pod.addresses.includes(address)) return { kind: 'pod', pod, address };
  return { kind: complete.pods && complete.nodes ? 'external' : 'unknown', address };
}

/** Names a Pod that may be meant, such as one of the workload or Service of that name. */
function hintFor({ namespace, name }: NamedEnd & { kind: 'pod' }, pods: KnownObjects['pods']): string {
  if (pods.size === 0)
    return '; no Pods are known: kubectl get pods,namespaces,nodes -A -o yaml > cluster.yaml saves them for --policies';
  const names = [...pods.values()].filter((pod) => pod.namespace === namespace).map((pod) => pod.name);
  if (names.length === 0) return `; no Pod of Namespace ${namespace} is known`;
  const own = names.find((each) => each.startsWith(`${name}-`));
  return own === undefined ? suggest(name, names) : `; did you mean ${own}?`;
}

function withFamily(end: End, other: End): End {
  if (end.kind !== 'pod' || other.address === undefined) return end;
  const family = isIPv6(other.address);
  const address = end.pod.addresses.find((each) => isIPv6(each) === family);
  return address === undefined ? end : { ...end, address };
}
