/** What `why` and `suggest` share: where objects are read from, whose the two ends are, and errors of what was given. */
import { suggest } from '../../config/suggest.ts';
import { isIPv6 } from '../../platform/address.ts';
import { printable } from '../../platform/printable.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { hasReadEnough } from '../../platform/write-all.ts';
import type { End, Flow, Pod } from '../../policies/policies.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../terminal.ts';
import type { KnownObjects } from './known-objects.ts';
import { FileError, readSavedFiles } from './saved-files.ts';

/** `wholeNamespaces`: all Pods of the two Namespaces, and not only the two. */
export async function readObjects(
  options: WhyOptions,
  wholeNamespaces: boolean,
  err: (text: string) => void,
): Promise<KnownObjects> {
  if (options.files.length > 0) {
    const objects = readSavedFiles(options.files);
    for (const note of objects.notes) err(`kube-netfilter-tailer: note: ${printable(note)}\n`);
    // Most likely they were not saved, and the verdict would be a guess.
    if (objects.policies.size === 0) err('kube-netfilter-tailer: note: the files have no network policy\n');
    return objects;
  }
  // The client library is not needed for files.
  const { readCluster } = await import('./cluster.ts');
  return await readCluster(options, wholeNamespaces);
}

const expected: ReadonlySet<string> = new Set(['FileError', 'EndError', 'ClusterError']);

export interface Printed {
  readonly status: number;
  readonly text: string;
}

/** Runs a command. What was given wrong, and what cannot be written, ends it with 2: a status below that is a verdict. */
export async function withStatus(
  { out, err }: Pick<Streams, 'out' | 'err'>,
  command: () => Promise<Printed>,
): Promise<number> {
  try {
    const { status, text } = await command();
    print(out, text);
    return status;
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error;
    const message = isWrite(error) ? `the output cannot be written: ${reasonOf(error)}` : error.message;
    const problems = error instanceof FileError ? error.problems : [message];
    for (const problem of problems) err(`kube-netfilter-tailer: ${printable(problem)}\n`);
    return 2;
  }
}

function print(out: Streams['out'], text: string): void {
  try {
    out(text);
  } catch (error) {
    // Who has read enough still gets the verdict as the status.
    if (!hasReadEnough(error)) throw error;
  }
}

function isExpected(error: Error): boolean {
  return expected.has(error.name) || isWrite(error);
}

function isWrite(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'write';
}

/** An end that is not there, or that no policy can be asked about. */
class EndError extends Error {
  override name = 'EndError';
}

/** Throws an `EndError`. Of a Pod with addresses of both families, that of the other end's family counts. */
export function findFlow({ from, to, port, protocol, files }: WhyOptions, objects: KnownObjects): Flow {
  // Names of other Pods are known from files alone; from a cluster only the two are read.
  const hint = (end: NamedEnd): string => (files.length === 0 || end.kind !== 'pod' ? '' : hintFor(end, objects.pods));
  const source = findEnd('--from', from, objects, hint);
  const destination = findEnd('--to', to, objects, hint);
  return {
    source: withFamily(source, destination),
    destination: withFamily(destination, source),
    protocol,
    port,
  };
}

function findEnd(
  option: string,
  end: NamedEnd,
  { pods, nodes, services, complete }: KnownObjects,
  hint: (end: NamedEnd) => string,
): End {
  if (end.kind === 'pod') {
    const pod = pods.get(`${end.namespace}/${end.name}`);
    if (pod === undefined)
      throw new EndError(`${option} ${end.namespace}/${end.name}: there is no such Pod${hint(end)}`);
    if (pod.completed) throw new EndError(`${option} ${end.namespace}/${end.name}: the Pod has completed`);
    return podEnd(pod, pod.addresses[0]);
  }
  const { address } = end;
  const service = services.get(address);
  if (service !== undefined)
    throw new EndError(
      `${option} ${address}: is of the Service ${service}; policies see the Pod behind it, so name one`,
    );
  for (const node of nodes.values()) if (node.addresses.includes(address)) return { kind: 'node', node, address };
  for (const pod of pods.values())
    if (!pod.completed && !pod.hostNetwork && pod.addresses.includes(address)) return podEnd(pod, address);
  return { kind: complete.pods && complete.nodes ? 'external' : 'unknown', address };
}

/** What may be meant: a Pod of the workload or Service of that name. */
function hintFor({ namespace, name }: NamedEnd & { kind: 'pod' }, pods: KnownObjects['pods']): string {
  if (pods.size === 0)
    return '; no Pods are known: kubectl get pods,namespaces,nodes -A -o yaml > cluster.yaml saves them for --policies';
  const names = [...pods.values()].filter((pod) => pod.namespace === namespace).map((pod) => pod.name);
  if (names.length === 0) return `; no Pod of Namespace ${namespace} is known`;
  const own = names.find((each) => each.startsWith(`${name}-`));
  return own === undefined ? suggest(name, names) : `; did you mean ${own}?`;
}

function podEnd(pod: Pod, address: string | undefined): End {
  return { kind: 'pod', pod, address };
}

function withFamily(end: End, other: End): End {
  if (end.kind !== 'pod' || other.address === undefined) return end;
  const family = isIPv6(other.address);
  const address = end.pod.addresses.find((each) => isIPv6(each) === family);
  return address === undefined ? end : podEnd(end.pod, address);
}
