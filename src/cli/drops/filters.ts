/** Leaves out flows that options do not ask for: `--from-pod`, `--to-pod`, `--port`, `--protocol`, `--verdict`, `--policy`. */
import type { FilterValues, PortFilter } from '../options/filter-options.ts';
import { nameText, type TargetName } from '../options/target-name.ts';
import type { Cluster } from './user-cluster.ts';
import type { FlowEnd } from './flow-end.ts';
import { type PodSet, podsOf } from './selected-pods.ts';

export interface FilteredFlow {
  readonly from: FlowEnd;
  readonly to: FlowEnd;
  /** `5432/TCP`; of packets on several ports the first ones. */
  readonly ports: readonly string[];
  readonly protocol: string | undefined;
  readonly verdict: string;
  readonly policy: string;
}

export interface FlowFilter {
  /** As on the command line; '' if nothing is left out. */
  readonly text: string;
  matches: (flow: FilteredFlow) => boolean;
  /** Asks the API server whether the Pods of a flow belong to a workload or Service that is asked for, if they came after the start. */
  learn: (flow: FilteredFlow) => Promise<void>;
}

/** `either`: Pods of which one end must be. Rejects with a `RefusedError` if the Pods of a workload or Service cannot be listed. */
export async function createFilter(
  cluster: Cluster,
  values: FilterValues,
  either: readonly TargetName[] = [],
): Promise<FlowFilter> {
  const [fromPods, toPods] = [await endFilter(cluster, values.fromPods), await endFilter(cluster, values.toPods)];
  const eitherPods = await endFilter(cluster, either);
  const policies = values.policyNames.map(patternOf);
  const { ports, protocols, verdicts } = values;
  return {
    text: textOf(values, either),
    matches: ({ from, to, ...flow }) =>
      fromPods.matches(from) &&
      toPods.matches(to) &&
      (eitherPods.matches(from) || eitherPods.matches(to)) &&
      anyOf(ports, (port) => flow.ports.some((own) => isPort(own, port))) &&
      anyOf(protocols, (names) => protocolsOf(flow).some((own) => names.includes(own))) &&
      anyOf(verdicts, (verdict) => flow.verdict === verdict) &&
      anyOf(policies, (pattern) => flow.policy.split(', ').some((policy) => pattern.test(policy))),
    async learn({ from, to }) {
      await fromPods.learn(from);
      await toPods.learn(to);
    },
  };
}

function anyOf<Item>(items: readonly Item[], matches: (item: Item) => boolean): boolean {
  return items.length === 0 || items.some(matches);
}

function isPort(own: string, { port, protocol }: PortFilter): boolean {
  return protocol === undefined ? own.startsWith(`${port}/`) : own === `${port}/${protocol}`;
}

/** Packets on several ports have a protocol for each. */
function protocolsOf({ protocol, ports }: Pick<FilteredFlow, 'ports' | 'protocol'>): readonly string[] {
  return protocol === undefined ? ports.map((port) => port.split('/')[1] ?? '') : [protocol];
}

/** `web` is a policy of that name in any Namespace, of any kind. */
function patternOf(name: string): RegExp {
  const literal = name.trim().replaceAll(/[\\^$.+()[\]{}|]/g, String.raw`\$&`);
  return new RegExp(`^(?:[^ ]* )?(?:[^/]*/)?${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'i');
}

async function endFilter(
  cluster: Cluster,
  names: readonly TargetName[],
): Promise<{ matches: (end: FlowEnd) => boolean; learn: (end: FlowEnd) => Promise<void> }> {
  const asked: { name: TargetName; pods: PodSet | undefined }[] = [];
  for (const { namespace = cluster.namespace, ...name } of names) {
    const pods = name.kind === 'Pod' ? undefined : await podsOf({ ...cluster, namespace }, name);
    asked.push({ name: { ...name, namespace }, pods });
  }
  return {
    matches: (end) =>
      anyOf(asked, ({ name, pods }) =>
        pods === undefined ? isNamed(end, name) : isWorkload(end, name) || isIn(end, pods),
      ),
    async learn({ namespace, pod }) {
      for (const { pods } of asked) if (namespace !== undefined && pod !== undefined) await pods?.learn(namespace, pod);
    },
  };
}

/** As in hubble, the name of a Pod may be its beginning. A row of several Pods has the name of their workload. */
function isNamed(end: FlowEnd, { namespace, name }: TargetName): boolean {
  const isObject = end.pod !== undefined || (end.kind !== undefined && end.kind !== 'Node');
  const isThere = namespace === undefined || end.namespace === namespace;
  return isObject && isThere && (end.pod ?? end.name).startsWith(name);
}

function isWorkload(end: FlowEnd, { kind, namespace, name }: TargetName): boolean {
  return end.kind === kind && end.namespace === namespace && end.name === name;
}

function isIn({ namespace, pod }: FlowEnd, pods: PodSet): boolean {
  return namespace !== undefined && pod !== undefined && pods.has(namespace, pod);
}

function portText({ port, protocol }: PortFilter): string {
  return protocol === undefined ? String(port) : `${port}/${protocol}`;
}

function textOf(values: FilterValues, either: readonly TargetName[]): string {
  const { fromPods, toPods, ports, protocols, verdicts, policyNames } = values;
  const given: [string, readonly string[]][] = [
    ['from-pod', fromPods.map(nameText)],
    ['to-pod', toPods.map(nameText)],
    ['port', ports.map(portText)],
    ['protocol', protocols.map(([name = '']) => name.toLowerCase())],
    ['verdict', verdicts],
    ['policy', policyNames],
  ];
  const flags = given.flatMap(([flag, texts]) => (texts.length === 0 ? [] : `--${flag} ${texts.join(',')}`));
  return [...either.map(nameText), ...flags].join(' ');
}
