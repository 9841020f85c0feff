/** Prints single packets, beside or instead of Events: rows of the audit, a flowchart, or the page of `report`. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type FlowRecord, noNamespace, packetRow, redactionOf } from '../../audit/audit.ts';
import type { CoreEvent } from '../../events/events.ts';
import type { Snapshot } from '../../kubernetes/kubernetes.ts';
import type { PacketSink } from '../../pipeline/pipeline.ts';
import { createWorkFolder, writeTemporary } from '../../report/work-folder.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { runReport } from '../../report/report.ts';
import type { Streams } from '../terminal.ts';
import type { Scope } from './inputs.ts';
import type { ReplayPolicies } from './policies.ts';
import { createTraffic } from './traffic.ts';

export interface PacketOutput {
  /** Undefined if no packet is shown. */
  readonly sink: PacketSink | undefined;
  /** Prints what comes at the end. Resolves to the exit status. */
  readonly finish: (events: readonly CoreEvent[]) => Promise<0 | 1 | 2>;
}

const nothing: PacketOutput = { sink: undefined, finish: () => Promise.resolve(0) };

interface RowUses {
  /** Needed for html alone. */
  printReport: typeof runReport | undefined;
  /** Takes out what a row must not say; undefined: rows say all. */
  redact: ((fields: FlowRecord) => FlowRecord) | undefined;
}

export function createPacketOutput(
  options: Pick<ReplayOptions, 'output' | 'includeNoise'>,
  { showsEnds, factsOn }: Pick<Scope, 'showsEnds'> & Pick<ReplayPolicies, 'factsOn'>,
  streams: Streams,
  { printReport, redact }: RowUses,
): PacketOutput {
  const rowsTo = (add: (row: string) => void): PacketSink => ({
    everyLine: true,
    drop({ line, observation, meaning }) {
      if (showsEnds(meaning.ends))
        add(packetRow(line, { observation, ...meaning }, { policies: factsOn(meaning.findings), redact }));
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

/** Rows are written in blocks of so many characters. */
const blockLength = 1 << 16;

/** Keeps rows in a file, which `report` makes the page of. */
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
    /** Resolves to the exit status of `report`. */
    async print(events: readonly CoreEvent[]): Promise<0 | 1 | 2> {
      flush();
      closeSync(file);
      const eventsAt = openSync(eventsFile, 'wx');
      writeTemporary(eventsAt, JSON.stringify({ items: events }));
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

/**
 * Removes values from audit rows; undefined: nothing. Whoever asks for one Namespace hands its rows to those who may know that one, so
 * no other is named then, whosever policy it was.
 */
export function rowRedaction(
  { privacy, namespace }: Pick<ReplayOptions, 'privacy' | 'namespace'>,
  { objects, optedOut }: Pick<Snapshot, 'objects' | 'optedOut'>,
): ((fields: FlowRecord) => FlowRecord) | undefined {
  const { bits, optOut } = privacy;
  const isOfOne = privacy.peers === 'redacted' && namespace !== undefined;
  // The agent does the same before it knows which Namespaces have the label.
  const hasOptedOut = (name: string): boolean => objects.namespaces.length === 0 || optedOut.has(name);
  const isHidden =
    isOfOne || optOut
      ? (name: string): boolean => (isOfOne && name !== namespace) || (optOut && hasOptedOut(name))
      : noNamespace;
  return redactionOf({ peers: isOfOne ? 'shown' : privacy.peers, bits, isHidden, labels: [] });
}
