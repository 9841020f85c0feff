/** Prints single packets, in addition to Events or instead of them: rows of the audit, a flowchart, or the page of `report`. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type FlowRecord, noNamespace, redactionOf, packetRow } from '../../publish/audit/audit.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { ReplayScope } from './inputs.ts';
import type { ReplayPolicies } from './policies.ts';
import type { Streams } from '../terminal.ts';
import { endpointName } from '../../explain/drops/drops.ts';
import type { CoreEvent } from '../../publish/events/events.ts';
import type { Snapshot } from '../../agent/kubernetes/snapshot.ts';
import type { Endpoint } from '../../base/model/endpoint.ts';
import { orient } from '../../base/model/flow-identity.ts';
import type { PacketSink, Drop } from '../../count/pipeline/pipeline.ts';
import { createWorkFolder, type runReport, writeTemporary } from '../report/report.ts';

interface PacketOutput {
  /** Undefined if no packets are printed. */
  readonly sink: PacketSink | undefined;
  readonly finish: (events: readonly CoreEvent[]) => Promise<0 | 1 | 2>;
}

const nothing: PacketOutput = { sink: undefined, finish: () => Promise.resolve(0) };

interface RowUses {
  /** Needed only for the output html. */
  printReport: typeof runReport | undefined;
  /** Removes values from a row; undefined if nothing is removed. */
  redact: ((fields: FlowRecord) => FlowRecord) | undefined;
}

export function createPacketOutput(
  options: Pick<ReplayOptions, 'output' | 'includeNoise'>,
  { showsEnds, factsOn }: Pick<ReplayScope, 'showsEnds'> & Pick<ReplayPolicies, 'factsOn'>,
  streams: Streams,
  { printReport, redact }: RowUses,
): PacketOutput {
  const rowsTo = (add: (row: string) => void): PacketSink => ({
    everyLine: true,
    drop({ line, observation, meaning }) {
      const { node, ends, noise, findings } = meaning;
      if (showsEnds(ends))
        add(packetRow(line, { observation, node, ends, noise }, { policies: factsOn(findings), redact }));
    },
  });
  if (options.output === 'audit') return { ...nothing, sink: rowsTo(streams.out) };
  if (options.output === 'mermaid') {
    const traffic = createTraffic();
    return {
      sink: {
        drop(drop) {
          const isCounted = options.includeNoise || drop.meaning.noise === undefined;
          if (isCounted && showsEnds(drop.meaning.ends)) traffic.add(drop);
        },
      },
      finish() {
        streams.out(traffic.mermaid());
        return Promise.resolve(0);
      },
    };
  }
  if (options.output !== 'html' || printReport === undefined) return nothing;
  const page = createPage(printReport, options.includeNoise, streams);
  return { sink: rowsTo((row) => page.add(row)), finish: (events) => page.print(events) };
}

/** Rows are written in blocks of at least this many characters. */
const blockLength = 1 << 16;

function createPage(printReport: typeof runReport, includeNoise: boolean, streams: Streams) {
  const { path: folder, remove } = createWorkFolder();
  const [rows, eventsFile] = [join(folder, 'packets.ndjson'), join(folder, 'events.json')];
  const file = openSync(rows, 'wx');
  let block = '';
  return {
    add(row: string): void {
      block += row;
      if (block.length >= blockLength) flush();
    },
    async print(events: readonly CoreEvent[]): Promise<0 | 1 | 2> {
      flush();
      closeSync(file);
      const eventsAt = openSync(eventsFile, 'wx');
      writeTemporary(eventsAt, '{"items":[');
      for (const [index, event] of events.entries())
        writeTemporary(eventsAt, `${index === 0 ? '' : ','}${JSON.stringify(event)}`);
      writeTemporary(eventsAt, ']}');
      closeSync(eventsAt);
      const none = { baseline: [], policy: [], db: undefined };
      const given = { rows: [rows], events: [eventsFile], includeNoise, mayBeEmpty: true };
      return await printReport({ ...none, ...given, output: 'html' }, streams).finally(remove);
    },
  };

  function flush(): void {
    writeTemporary(file, block);
    block = '';
  }
}

/** With redacted peers and `--namespace`, the rows name no other Namespace, because their readers may know only this one. */
export function rowRedaction(
  { privacy, namespace }: Pick<ReplayOptions, 'privacy' | 'namespace'>,
  { objects, optedOut }: Pick<Snapshot, 'objects' | 'optedOut'>,
): ((fields: FlowRecord) => FlowRecord) | undefined {
  const { bits, optOut } = privacy;
  const isOfOne = privacy.peers === 'redacted' && namespace !== undefined;
  // If no Namespaces are saved, all of them count as opted out, as in an agent that has not listed them yet.
  const hasOptedOut = (name: string): boolean => objects.namespaces.length === 0 || optedOut.has(name);
  const isHidden =
    isOfOne || optOut
      ? (name: string): boolean => (isOfOne && name !== namespace) || (optOut && hasOptedOut(name))
      : noNamespace;
  return redactionOf({ peers: isOfOne ? 'shown' : privacy.peers, bits, isHidden, labels: [] });
}

/** More arrows would make the picture useless. */
const mostArrows = 60;
const mostServices = 3;
/** The most services of all pairs together. A flood with random addresses would fill the memory. */
const mostKept = 65_536;

interface Pair {
  from: Endpoint;
  to: Endpoint;
  packets: number;
  services: Map<string, number>;
}

/** Draws a flowchart for GitHub, GitLab and many wikis: a node for each workload, and an arrow for each pair of workloads. */
function createTraffic() {
  const pairs = new Map<string, Pair>();
  let kept = 0;
  /** Packets of services that were not kept. */
  let others = 0;

  return {
    add({ observation, meaning: { ends }, weight }: Drop): void {
      const { what, reply } = serviceOf(observation);
      // For a reply, swap the ends, so that the arrow shows the direction of the request.
      const [from, to] = reply ? [ends.destination, ends.source] : [ends.source, ends.destination];
      const key = `${from.identity}|${to.identity}`;
      let pair = pairs.get(key);
      const before = pair?.services.get(what);
      if (before === undefined && kept++ >= mostKept) {
        others += weight;
        return;
      }
      if (pair === undefined) pairs.set(key, (pair = { from, to, packets: 0, services: new Map() }));
      pair.packets += weight;
      pair.services.set(what, (before ?? 0) + weight);
    },
    mermaid(): string {
      const sorted = [...pairs.values()].toSorted((a, b) => b.packets - a.packets);
      const left = sorted.slice(mostArrows);
      const packetsLeft = left.reduce((sum, { packets }) => sum + packets, others);
      return chartOf(sorted.slice(0, mostArrows), packetsLeft);
    },
  };
}

function serviceOf(observation: Drop['observation']): { what: string; reply: boolean } {
  if (observation.kind === 'martian') return { what: 'martian', reply: false };
  const { packet } = observation;
  const { port, reply } = orient(packet);
  if (port === undefined) return { what: packet.protocol, reply: false };
  return { what: `${port}/${packet.protocol}`, reply };
}

function chartOf(pairs: readonly Pair[], packetsLeft: number): string {
  const ids = new Map<string, string>();
  const lines = ['flowchart LR'];
  const idOf = (end: Endpoint): string => {
    let id = ids.get(end.identity);
    if (id === undefined) {
      ids.set(end.identity, (id = `n${ids.size}`));
      lines.push(`  ${id}["${labelOf(end)}"]`);
    }
    return id;
  };
  for (const pair of pairs) lines.push(`  ${idOf(pair.from)} -->|"${escaped(arrowText(pair))}"| ${idOf(pair.to)}`);
  if (packetsLeft > 0) lines.push(`  others["${packetsLeft.toLocaleString('en-US')} packets of other pairs"]`);
  if (lines.length === 1) lines.push('  none["no packet was dropped"]');
  return `${lines.join('\n')}\n`;
}

/** Labels an arrow: `5432/TCP ×36`, `53/UDP, 53/TCP and 7 more ×1,204`. */
function arrowText({ services, packets }: Pair): string {
  const names = [...services].toSorted((a, b) => b[1] - a[1]).map(([name]) => name);
  const more = names.length - mostServices;
  const named = names.slice(0, mostServices).join(', ');
  return `${named}${more > 0 ? ` and ${more} more` : ''} ×${packets.toLocaleString('en-US')}`;
}

/** Names the workload, else the object, else the address. */
function labelOf({ workload, ...end }: Endpoint): string {
  const name = workload === undefined ? endpointName({ workload, ...end }) : `${workload.namespace}/${workload.name}`;
  const kind = workload?.kind ?? (end.object === undefined ? end.note : end.object.kind);
  return escaped(name) + (kind === undefined || name.startsWith('node ') ? '' : `<br/>${escaped(kind)}`);
}

/** Escapes markup and entities, which Mermaid reads even within quotes. */
function escaped(text: string): string {
  return text.replaceAll(/[^\w ./:×,()-]/gu, (character) => `#${character.codePointAt(0)};`);
}
