/** What the page and its script agree on. */

export const textColumns = [
  'from',
  'fromGroup',
  'to',
  'toGroup',
  'service',
  'action',
  'rule',
  'node',
  'fromAddress',
  'toAddress',
] as const;

/** In this order they follow each other in the bytes, and behind them the texts as JSON. */
export const rowColumns = [...textColumns, 'at', 'packets'] as const;

export type RowColumn = (typeof rowColumns)[number];
export type TextColumn = (typeof textColumns)[number];

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
  /** Of the graph: the pairs with most packets. */
  edges: { from: string; to: string; packets: number }[];
}
