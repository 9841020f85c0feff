import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { Streams } from '../terminal.ts';

export type ReadTotals = ReturnType<typeof createReadTotals>;

export function createReadTotals() {
  /** `earlier`: lines that `--since` leaves out. `hosts`: host names in the lines, against which `--node` is checked. */
  return { files: 0, lines: 0, earlier: 0, bytes: 0, tooLong: 0, guessedTimes: 0, hosts: new Set<string>() };
}

export interface LogTarget {
  pipeline: Pick<Pipeline, 'take' | 'repeats'>;
  totals: ReadTotals;
  streams: Pick<Streams, 'err' | 'terminal'>;
  options: Pick<ReplayOptions, 'quiet' | 'node'>;
  /** Whether this host is a Node. Undefined if no Nodes are known. */
  isNode?: ((host: string) => boolean) | undefined;
  /** Reports what could not be read, which shows in the exit status. */
  problem: (text: string) => void;
}
