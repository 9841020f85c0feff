/** The format in which the page hands its data to its script. */

/** `ruling` is rule, verdict and policies together, because many rows have the same three. */
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

/** The order of the columns in the bytes; the texts follow as JSON. */
export const rowColumns = [...textColumns, 'at', 'packets'] as const;

/** The lines of a `ruling`. `policies` has commas between its names. */
export const rulingColumns = ['rule', 'verdict', 'policies'] as const;

/** The columns in the script, which splits `ruling` into three. */
export type TextColumn = Exclude<(typeof textColumns)[number], 'ruling'> | (typeof rulingColumns)[number];
export type RowColumn = TextColumn | 'at' | 'packets';

export interface Packed {
  count: number;
  /** Base64 of gzip. */
  data: string;
}

/** A mark in the time line. */
export interface Mark {
  kind: 'gap' | 'scan' | 'incident';
  first: number;
  last: number;
  text: string;
}

export interface Side {
  names: string[];
  /** Whether the last row or column of the matrix sums up all others. */
  hasOthers: boolean;
}

/** Data for the script, beside the rows. */
export interface PageData {
  rows: { count: number; all: number };
  timeLine: { start: number; step: number; series: { action: string; packets: number[] }[] } | undefined;
  marks: Mark[];
  namespaces: { from: Side; to: Side };
  workloads: { from: Side; to: Side };
  /** The script makes a button of each. */
  policies: { policy: string; verdict: string }[];
  /** The pairs with most packets, for the graph. */
  edges: { from: string; to: string; packets: number }[];
}
