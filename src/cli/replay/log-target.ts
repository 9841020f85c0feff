import type { LogLine } from '../../base/model/log-line.ts';
import { type UnreadText, unreadTextIn } from '../../read/parsing/parsing.ts';
import { copy } from '../../base/platform/address.ts';
import type { Pipeline } from '../../count/pipeline/pipeline.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { Streams } from '../terminal.ts';

export interface ReadTotals {
  files: number;
  lines: number;
  /** Lines that `--since` leaves out. */
  earlier: number;
  bytes: number;
  tooLong: number;
  guessedTimes: number;
  /** Host names in the lines, against which `--node` is checked. */
  hosts: Set<string>;
  /** Unread texts about packets, by their names and the missing part. */
  unread: Map<string, UnreadLines>;
}

export interface UnreadLines extends UnreadText {
  count: number;
  /** The first of them. */
  place: string;
  example: string;
}

export function createReadTotals(): ReadTotals {
  return {
    files: 0,
    lines: 0,
    earlier: 0,
    bytes: 0,
    tooLong: 0,
    guessedTimes: 0,
    hosts: new Set(),
    unread: new Map(),
  };
}

/** The most kinds of unread lines that are kept. */
const mostUnread = 16;
const longestExample = 160;

export function noteUnread({ unread }: ReadTotals, { text, source, line }: LogLine): void {
  const found = unreadTextIn(text);
  if (found === undefined) return;
  const key = `${found.name}: ${found.advice}`;
  const known = unread.get(key);
  if (known !== undefined) known.count++;
  else if (unread.size < mostUnread)
    unread.set(key, { ...found, count: 1, place: `${source}:${line}`, example: copy(text.slice(0, longestExample)) });
}

export interface LogTarget {
  pipeline: Pick<Pipeline, 'take' | 'repeats'>;
  totals: ReadTotals;
  streams: Pick<Streams, 'err' | 'terminal'>;
  options: Pick<ReplayOptions, 'quiet' | 'node'>;
  /** Whether this host is a Node. Undefined if no Nodes are known. */
  isNode?: ((host: string) => boolean) | undefined;
  /** Reports unreadable input, which affects the exit status. */
  problem: (text: string) => void;
}
