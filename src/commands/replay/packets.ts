/** What `replay` prints of single packets, beside or instead of Events. */
import type { FlowRecord } from '../../audit/fields.ts';
import { packetRow } from '../../audit/record.ts';
import type { CoreEvent } from '../../events/event.ts';
import type { Drop } from '../../pipeline/pipeline.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { report } from '../report.ts';
import type { Streams } from '../terminal.ts';
import { createPage } from './page.ts';
import type { ReplayPolicies } from './policies.ts';
import type { Scope } from './scope.ts';
import { createTraffic } from './traffic.ts';

export interface PacketOutput {
  /** What varies from packet to packet is shown, too. */
  readonly everyLine: boolean;
  /** Undefined where no packet is shown. */
  readonly onDrop: ((drop: Drop) => void) | undefined;
  /** Prints what comes at the end. Resolves to the exit status. */
  readonly finish: (events: readonly CoreEvent[]) => Promise<0 | 1 | 2>;
}

const nothing: PacketOutput = { everyLine: false, onDrop: undefined, finish: () => Promise.resolve(0) };

interface RowUses {
  /** Undefined only where the output is not html. */
  printReport: typeof report | undefined;
  /** Undefined where a row says all. */
  redact: ((fields: FlowRecord) => FlowRecord) | undefined;
}

export function createPacketOutput(
  options: Pick<ReplayOptions, 'output' | 'includeNoise'>,
  { showsEnds, factsOn }: Pick<Scope, 'showsEnds'> & Pick<ReplayPolicies, 'factsOn'>,
  streams: Streams,
  { printReport, redact }: RowUses,
): PacketOutput {
  const rowsTo =
    (add: (row: string) => void) =>
    ({ line, observation, meaning }: Drop): void => {
      if (showsEnds(meaning.ends))
        add(packetRow(line, { observation, ...meaning }, { policies: factsOn(meaning.findings), redact }));
    };
  if (options.output === 'audit') return { ...nothing, everyLine: true, onDrop: rowsTo(streams.out) };
  if (options.output === 'mermaid') {
    const traffic = createTraffic();
    return {
      everyLine: false,
      onDrop(drop) {
        const isCounted = options.includeNoise || drop.meaning.noise === undefined;
        if (isCounted && showsEnds(drop.meaning.ends)) traffic.add(drop);
      },
      finish() {
        streams.out(traffic.mermaid());
        return Promise.resolve(0);
      },
    };
  }
  if (options.output !== 'html' || printReport === undefined) return nothing;
  const page = createPage(printReport);
  return {
    everyLine: true,
    onDrop: rowsTo(page.add),
    finish: (events) => page.print(events, options, streams).finally(page.remove),
  };
}
