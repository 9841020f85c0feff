/** The format in which the page hands its data to its script. */

/** The columns of texts. `ruling` has rule, verdict and policies together, because many rows have the same three. */
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

/** The order of the columns in the packed rows. The texts follow them. */
export const rowColumns = [...textColumns, 'at', 'packets'] as const;

/** The lines of a `ruling`. Names in `policies` are separated by commas. */
export const rulingColumns = ['rule', 'verdict', 'policies'] as const;

/** The columns in the script, which splits `ruling` into three. */
export type TextColumn = Exclude<(typeof textColumns)[number], 'ruling'> | (typeof rulingColumns)[number];
export type RowColumn = TextColumn | 'at' | 'packets';

export interface MatrixSide {
  names: string[];
  /** Whether the last row or column of the matrix sums up all others. */
  hasOthers: boolean;
}

/** The data for the script, apart from the rows. */
export interface PageData {
  rows: { count: number; all: number };
  timeLine: { start: number; step: number } | undefined;
  namespaces: { from: MatrixSide; to: MatrixSide };
  workloads: { from: MatrixSide; to: MatrixSide };
  /** The order is that of the list, whose rows the script makes into buttons. */
  policies: { policy: string; verdict: string }[];
}
