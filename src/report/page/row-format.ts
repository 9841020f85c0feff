/** What the page and its script agree on. */

/** `ruling` is rule, verdict and policies together: what one row has of them, many have. */
export const textColumns = [
  'from',
  'fromGroup',
  'to',
  'toGroup',
  'service',
  'action',
  'ruling',
  'node',
  'fromAddress',
  'toAddress',
] as const;

/** In this order they follow each other in the bytes, and behind them the texts as JSON. */
export const rowColumns = [...textColumns, 'at', 'packets'] as const;

/** Lines of a text of `ruling`; `policies` has commas between its names. */
export const rulingColumns = ['rule', 'verdict', 'policies'] as const;

/** As the script has them. */
export type TextColumn = Exclude<(typeof textColumns)[number], 'ruling'> | (typeof rulingColumns)[number];
export type RowColumn = TextColumn | 'at' | 'packets';

export interface Packed {
  count: number;
  /** Base64 of gzip. */
  data: string;
}

/** A time of the time line that is marked. */
export interface Mark {
  kind: 'gap' | 'scan' | 'incident';
  first: number;
  last: number;
  text: string;
}

export interface Side {
  names: string[];
  /** The last row or column of the matrix has all others. */
  hasOthers: boolean;
}

/** What the script gets beside the rows. */
export interface PageData {
  rows: { count: number; all: number };
  timeLine: { start: number; step: number; series: { action: string; packets: number[] }[] } | undefined;
  marks: Mark[];
  namespaces: { from: Side; to: Side };
  workloads: { from: Side; to: Side };
  /** As in the list of policies: the script makes a button of each. */
  policies: { policy: string; verdict: string }[];
  /** Of the graph: the pairs with most packets. */
  edges: { from: string; to: string; packets: number }[];
}
