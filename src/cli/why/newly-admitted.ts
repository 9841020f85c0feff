/** `suggest --audit`: counts the flows of the audit that suggested policies would admit in addition to the given connection. */
import { type FlowRecord, schemaVersion } from '../../publish/audit/fields.ts';
import { canonicalAddress } from '../../base/platform/address.ts';
import {
  compilePolicy,
  type End,
  openedPorts,
  type PolicyFlow,
  type PolicyPod,
  type PolicySuggestion,
} from '../../explain/policies/policies.ts';
import { eachLine, findFiles, objectIn } from '../report/report.ts';
import { InputError } from '../../read/sources/reading.ts';
import { plural } from '../terminal.ts';
import { evaluatorOf, type KnownObjects } from './known-objects.ts';
import { outcomeOf } from './why.ts';

const most = { flows: 10_000, rows: 200_000, top: 5 };

/** Counts dropped flows to the ports that the policies open. A repeated row (`event.id`) is counted once. */
export function countNewlyAdmitted(asked: PolicyFlow, suggested: readonly PolicySuggestion[], objects: KnownObjects) {
  const added = suggested.flatMap(({ policy }) => compilePolicy(policy));
  const [before, after] = [evaluatorOf(objects), evaluatorOf(objects, added)];
  const pods = podsByOwner(objects);
  const flows = new Map<string, { outcome: 'new' | 'old' | 'unknown'; packets: number }>();
  const seen = new Set<string>();
  const opened = openedPorts(asked);
  /** Whether there were more rows or flows than are kept, so that the counts are lower bounds. */
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
      const flow = known ?? { outcome: changeOf(row, transport ?? asked.protocol, port), packets: 0 };
      flow.packets += row['network.packets'] ?? 0;
      flows.set(text, flow);
    },
    /** `rows`: the number of rows that were read. */
    lines: (rows: number): string[] => {
      const admitted = [...flows].filter(([, { outcome }]) => outcome === 'new');
      const top = admitted.toSorted(([, a], [, b]) => b.packets - a.packets).slice(0, most.top);
      const packets = admitted.reduce((sum, [, flow]) => sum + flow.packets, 0);
      const unknown = [...flows.values()].filter(({ outcome }) => outcome === 'unknown').length;
      return [
        `of ${plural(rows, 'row')} of the audit, ${plural(admitted.length, 'flow')} with ${isPart ? 'at least ' : ''}${plural(packets, 'packet')} would newly be admitted`,
        ...top.map(([text, flow]) => `  ${text}: ${flow.packets}`),
        ...(admitted.length > top.length ? [`  and ${admitted.length - top.length} more`] : []),
        ...(unknown > 0
          ? [`not known of ${unknown} more: their Pods, or what policies say of them, are not known now`]
          : []),
      ];
    },
  };

  function changeOf(row: FlowRecord, protocol: string, port: number | undefined): 'new' | 'old' | 'unknown' {
    const [source, destination] = [endOf(row, 'source'), endOf(row, 'destination')];
    if (source === undefined || destination === undefined) return 'unknown';
    const flow: PolicyFlow = { source, destination, protocol, port };
    const [outcomeBefore, outcomeAfter] = [before, after].map(({ verdict }) =>
      outcomeOf(verdict(flow, 'ingress'), verdict(flow, 'egress')),
    );
    if (outcomeAfter === 'denies' || outcomeBefore === 'admits') return 'old';
    return outcomeBefore === 'denies' && outcomeAfter === 'admits' ? 'new' : 'unknown';
  }

  /** Returns undefined if the end is redacted, stands for several ends, or has a network in place of an address. */
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

/** Returns one Pod by workload (`Deployment shop/web`), because all Pods of a workload have the labels that it selects by. */
function podsByOwner({ pods, ownerOf }: KnownObjects): Map<string, PolicyPod> {
  const found = new Map<string, PolicyPod>();
  for (const pod of pods.values()) {
    const owner = ownerOf(pod);
    if (owner !== undefined && !pod.completed) found.set(`${owner.kind} ${pod.namespace}/${owner.name}`, pod);
  }
  return found;
}

function unknownPod(namespace: string, address: string): PolicyPod {
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

/** Names an end: `Deployment batch/worker`, `Pod shop/debug`, `192.0.2.7`, `(redacted)`. */
function nameOf(row: FlowRecord, end: 'source' | 'destination'): string {
  const namespace = row[`${end}.k8s.namespace.name`];
  const [kind, owner, pod] = [row[`${end}.kind`], row[`${end}.k8s.owner.name`], row[`${end}.k8s.pod.name`]];
  const within = namespace === undefined ? '' : `${namespace}/`;
  if (owner !== undefined) return `${row[`${end}.k8s.owner.kind`] ?? kind} ${within}${owner}`;
  if (pod !== undefined) return `Pod ${within}${pod}`;
  return row[`${end}.address`] ?? `(${kind ?? 'unknown'})`;
}

/** The most characters of a text in a valid row. A name in Kubernetes has at most 253. */
const longestText = 512;
const mostNamed = 20;
const [major] = schemaVersion.split('.');

/** Reads rows as `report` does: patterns, gzip, Zstandard, `-`. `problems` lists the first broken rows, and unreadable files. */
export async function readAuditRows(named: readonly string[], onRow: (row: FlowRecord) => void) {
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
  const row: FlowRecord | undefined = objectIn(line);
  if (row === undefined) return 'is no flow record: cut off, too long, or no JSON';
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
