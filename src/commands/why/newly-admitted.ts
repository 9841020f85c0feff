/** `suggest --audit`: which flows of the audit a suggestion would admit beside the one that it was made for. */
import { type FlowRecord, schemaVersion } from '../../audit/fields.ts';
import { canonicalAddress } from '../../platform/address.ts';
import {
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type End,
  type Evaluator,
  type Flow,
  openedPorts,
  type Pod,
  type Suggested,
} from '../../policies/policies.ts';
import { findFiles } from '../../report/read/files.ts';
import { eachLine } from '../../report/read/lines.ts';
import { InputError } from '../../sources/framing/input.ts';
import type { KnownObjects } from './known-objects.ts';

export interface NewlyAdmitted {
  /** Flows that the suggestion admits and that were denied without it, and their packets. */
  readonly flows: number;
  readonly packets: number;
  readonly top: readonly { readonly text: string; readonly packets: number }[];
  /** Flows of its port whose Pods are not known, so that it cannot be known. */
  readonly unknown: number;
  /** More flows came than are remembered, so the counts are lower bounds. */
  readonly isPart: boolean;
}

const most = { flows: 10_000, rows: 200_000, top: 5 };

/** Rows go in one after another; only flows of the ports that are opened are kept, each once. */
export function countNewlyAdmitted(asked: Flow, suggested: readonly Suggested[], objects: KnownObjects) {
  const added = suggested.map(({ policy }) => compilePolicy(policy)).filter((policy) => policy !== undefined);
  const namespaces = [...objects.namespaces.values()];
  const policies = [...objects.policies.values()];
  const verdictsBefore = createEvaluator({ policies: createPolicySet(policies, objects.calico), namespaces });
  const verdictsAfter = createEvaluator({
    policies: createPolicySet([...policies, ...added], objects.calico),
    namespaces,
  });
  const pods = podsByOwner(objects);
  const flows = new Map<string, { outcome: 'new' | 'old' | 'unknown'; packets: number }>();
  const seen = new Set<string>();
  const opened = openedPorts(asked);
  let isPart = false;

  return {
    take: (row: FlowRecord): void => {
      const transport = row['network.transport']?.toUpperCase();
      const isOpened = ({ protocol, port }: (typeof opened)[number]): boolean =>
        protocol === transport && port === row['destination.port'];
      if (row['event.name'] !== 'network.flow.drop' || row['network.reply'] === true) return;
      if (opened.length > 0 && !opened.some(isOpened)) return;
      const id = row['event.id'] ?? '';
      if (seen.has(id)) return;
      if (seen.size >= most.rows) return void (isPart = true);
      seen.add(id);
      const port = row['destination.port'];
      const text = `${nameOf(row, 'source')} → ${nameOf(row, 'destination')} ${transport ?? asked.protocol}${port === undefined ? '' : ` ${port}`}`;
      const known = flows.get(text);
      if (known === undefined && flows.size >= most.flows) return void (isPart = true);
      const flow = known ?? { outcome: outcomeOf(row, transport ?? asked.protocol, port), packets: 0 };
      flow.packets += row['network.packets'] ?? 0;
      flows.set(text, flow);
    },
    result: (): NewlyAdmitted => {
      const admitted = [...flows].filter(([, { outcome }]) => outcome === 'new');
      const sorted = admitted.toSorted(([, a], [, b]) => b.packets - a.packets);
      return {
        flows: admitted.length,
        packets: admitted.reduce((sum, [, { packets }]) => sum + packets, 0),
        top: sorted.slice(0, most.top).map(([text, { packets }]) => ({ text, packets })),
        unknown: [...flows.values()].filter(({ outcome }) => outcome === 'unknown').length,
        isPart,
      };
    },
  };

  function outcomeOf(row: FlowRecord, protocol: string, port: number | undefined): 'new' | 'old' | 'unknown' {
    const [source, destination] = [endOf(row, 'source'), endOf(row, 'destination')];
    if (source === undefined || destination === undefined) return 'unknown';
    const flow: Flow = { source, destination, protocol, port };
    const after = together(verdictsAfter, flow);
    // What it does not admit, whoever the ends are, it does not admit newly.
    if (after === 'denies') return 'old';
    const before = together(verdictsBefore, flow);
    if (before === 'admits') return 'old';
    return before === 'denies' && after === 'admits' ? 'new' : 'unknown';
  }

  /** Undefined where it is redacted, stands for several, or has a network in place of an address. */
  function endOf(row: FlowRecord, end: 'source' | 'destination'): End | undefined {
    const address = canonicalAddress(row[`${end}.address`] ?? '');
    const [kind, namespace = ''] = [row[`${end}.kind`], row[`${end}.k8s.namespace.name`]];
    if (kind === 'Pod') {
      const pod =
        objects.pods.get(`${namespace}/${row[`${end}.k8s.pod.name`]}`) ??
        pods.get(`${row[`${end}.k8s.owner.kind`]} ${namespace}/${row[`${end}.k8s.owner.name`]}`) ??
        unknownPod(namespace, address);
      return { kind: 'pod', pod, address: address || pod.addresses[0] };
    }
    if (address === '') return undefined;
    return { kind: kind === 'external' ? 'external' : 'unknown', address };
  }
}

/** Keeps one Pod of each workload: all have the labels that it selects by. */
function podsByOwner({ pods, ownerOf }: KnownObjects): Map<string, Pod> {
  const found = new Map<string, Pod>();
  for (const pod of pods.values()) {
    const owner = ownerOf(pod);
    if (owner !== undefined && !pod.completed) found.set(`${owner.kind} ${pod.namespace}/${owner.name}`, pod);
  }
  return found;
}

function unknownPod(namespace: string, address: string): Pod {
  return {
    namespace,
    name: '(unknown)',
    labels: undefined,
    addresses: address === '' ? [] : [address],
    node: undefined,
    hostNetwork: false,
    completed: false,
    ports: undefined,
  };
}

function together({ verdict }: Evaluator, flow: Flow): 'admits' | 'denies' | 'unknown' {
  const outcomes = new Set([verdict(flow, 'ingress').outcome, verdict(flow, 'egress').outcome]);
  if (outcomes.has('denies')) return 'denies';
  return outcomes.has('unknown') ? 'unknown' : 'admits';
}

/** `Deployment batch/worker`, `Pod shop/debug`, `192.0.2.7`, `(redacted)`. */
function nameOf(row: FlowRecord, end: 'source' | 'destination'): string {
  const namespace = row[`${end}.k8s.namespace.name`];
  const [kind, owner, pod] = [row[`${end}.kind`], row[`${end}.k8s.owner.name`], row[`${end}.k8s.pod.name`]];
  const within = namespace === undefined ? '' : `${namespace}/`;
  if (owner !== undefined) return `${row[`${end}.k8s.owner.kind`] ?? kind} ${within}${owner}`;
  if (pod !== undefined) return `Pod ${within}${pod}`;
  return row[`${end}.address`] ?? `(${kind ?? 'unknown'})`;
}

export interface RowsRead {
  readonly rows: number;
  readonly broken: number;
  /** The first broken rows by file and line, and files that cannot be read. */
  readonly problems: readonly string[];
}

/** Names of Kubernetes have 253 characters at most. */
const longestText = 512;
const mostNamed = 20;
const [major] = schemaVersion.split('.');

/** Files as `report` takes them: patterns, gzip, Zstandard, `-`. What is broken is left out, counted and named. */
export async function readAuditRows(named: readonly string[], onRow: (row: FlowRecord) => void): Promise<RowsRead> {
  const { files, problems } = findFiles(named);
  let [rows, broken] = [0, 0];
  for (const file of files) {
    let number = 0;
    const take = (line: string | undefined): void => {
      number++;
      if (line?.trim() === '') return;
      const row = rowOf(line);
      if (typeof row === 'object') {
        rows++;
        onRow(row);
      } else if (++broken <= mostNamed) problems.push(`${file}:${number}: ${row}`);
    };
    try {
      await eachLine(file, take);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(error.message);
    }
  }
  if (broken > mostNamed) problems.push(`${broken - mostNamed} more rows that cannot be read`);
  return { rows, broken, problems };
}

function rowOf(line: string | undefined): FlowRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line ?? '');
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'is no flow record: cut off, too long, or no JSON';
  const row = value as FlowRecord;
  const version: unknown = row['schema.version'];
  if (typeof version !== 'string' || version.split('.')[0] !== major)
    return `is no flow record of schema version ${major}.x`;
  const packets: unknown = row['network.packets'];
  const isGap = row['event.name'] === 'network.flow.gap';
  const isCounted = isGap || (Number.isSafeInteger(packets) && (packets as number) >= 0);
  if (row['event.id'] === undefined || !isCounted || !texts.every((name) => isText(row[name])))
    return 'is not what docs/audit.md says';
  return row;
}

/** The length is checked to bound what is kept of rows. */
function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.length <= longestText);
}

const texts: readonly (keyof FlowRecord)[] = [
  'event.id',
  'network.transport',
  ...['source', 'destination'].flatMap((end) =>
    ['address', 'kind', 'k8s.namespace.name', 'k8s.pod.name', 'k8s.owner.kind', 'k8s.owner.name'].map(
      (name) => `${end}.${name}` as keyof FlowRecord,
    ),
  ),
];
