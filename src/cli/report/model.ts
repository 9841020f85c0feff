/** Defines the contents of a report as plain data. Outputs print texts only through texts/plain.ts, because anyone may have written them. */

export interface ReportOptions {
  /** Files, patterns, `-` for standard input. */
  rows: readonly string[];
  baseline: readonly string[];
  /** Files of Events as JSON. */
  events: readonly string[];
  output: 'html' | 'table' | 'csv' | 'json' | 'markdown';
  /** The path of the database; must not exist yet. */
  db: string | undefined;
  includeNoise: boolean;
  /** Names of policies, in which `*` stands for any characters and `?` for one; empty: all records. */
  policy: readonly string[];
  /** The current time in milliseconds since 1970. Rows that are more than a day later come from a wrong clock. */
  now: number;
  mayBeEmpty?: boolean;
}

/** Packets from one end to another, on one service, with one outcome. */
export interface Pair {
  /** The rank by packets, from 1 for the most. */
  place: number;
  from: string;
  fromGroup: string;
  to: string;
  toGroup: string;
  /** Such as `tcp/5432`. */
  service: string;
  /** `dropped`, `rejected`, `logged`, `accepted`. */
  action: string;
  packets: number;
  /** `packets` is a lower bound. */
  atLeast: boolean;
  records: number;
  /** Milliseconds since 1970, here and below. */
  first: number;
  last: number;
  /** The rule that matched most packets, and the number of rules. */
  rule: string;
  rules: number;
  /** The verdict on most of that rule's packets. */
  verdict: FlowVerdict;
}

/** `new` if the baseline lacks the pair, `gone` if the rows lack it. */
export type ChangedPair = Pair & { change: '' | 'new' | 'gone' };

/** `unknown` also stands for a record without a verdict. */
export type FlowVerdict = 'denied' | 'admitted' | 'unknown';

/** Packets that a policy denied or admitted, or whose log names the policy. A packet that several policies denied counts for each. */
export interface PolicySum {
  /** Such as `NetworkPolicy shop/default-deny`, or `(not named)`. */
  policy: string;
  verdict: FlowVerdict;
  packets: number;
  atLeast: boolean;
  records: number;
  pairs: number;
  /** The number of Namespaces of sources and destinations, and those with most packets. */
  namespaces: number;
  topNamespaces: string[];
  first: number;
  last: number;
}

export interface Count {
  name: string;
  packets: number;
  records: number;
}

export interface Ranking {
  top: Count[];
  others: { names: number; packets: number };
}

export const rankings = ['from', 'to', 'service', 'rule', 'node'] as const;
export type RankingName = (typeof rankings)[number];

/** Packets by source (rows) and destination (columns), for the most frequent ones. The last row and the last column sum up all others. */
export interface Matrix {
  rows: string[];
  columns: string[];
  /** How many sources the last row sums up, and how many destinations the last column; 0 if no such row or column exists. */
  otherRows: number;
  otherColumns: number;
  /** Packets, as `cells[row][column]`. */
  cells: number[][];
}

export interface TimeLine {
  /** The beginning of the time line, and the length of an interval, both in milliseconds. */
  start: number;
  step: number;
  series: { action: string; packets: number[] }[];
  /** Records that are left out, because their time cannot be right. */
  outside: number;
}

/** Records that the audit itself reports as missing. */
export interface Gap {
  reason: string;
  node: string;
  /**
   * The number of rows: each reports the loss in one interval of the audit, or of all records that a receiver did not get, however long that
   * took. `lost`: the least number of missing records.
   */
  intervals: number;
  lost: number;
  first: number;
  last: number;
}

/** A source that was denied by many destinations, or at many ports of one, within an hour. */
export interface Scan {
  from: string;
  /** The most destinations in one hour. */
  destinations: number;
  /** The most ports of one destination in one hour. */
  ports: number;
  hours: number;
  packets: number;
  first: number;
  last: number;
}

export interface ReportedEvent {
  reason: string;
  object: string;
  message: string;
  count: number;
  first: number;
  last: number;
}

export interface TopList<T> {
  top: T[];
  /** How many are not in `top`. */
  more: number;
}

export interface Changes {
  appeared: TopList<Pair>;
  vanished: TopList<Pair>;
  policies: { appeared: TopList<PolicySum>; vanished: TopList<PolicySum> };
  baseline: RecordTotals;
}

export interface RecordTotals {
  records: number;
  packets: number;
  /** Undefined if no record has a plausible time. */
  first: number | undefined;
  last: number | undefined;
  gaps: number;
}

export interface AuditReport extends OmittedRows {
  /** The policies that the user has asked for. */
  policy: readonly string[];
  extent: RecordTotals;
  denied: number;
  atLeast: boolean;
  clusters: string[];
  nodes: number;
  pairs: number;
  /** Packets of link-local chatter that are left out. */
  noise: number;
  /** Records of a kind that this version does not know. */
  unknownKinds: number;
  actions: Count[];
  top: TopList<Pair>;
  policies: TopList<PolicySum>;
  rankings: Record<RankingName, Ranking>;
  namespaces: Matrix;
  workloads: Matrix;
  timeLine: TimeLine | undefined;
  gaps: TopList<Gap>;
  scans: TopList<Scan>;
  /** Events about incidents, and about packets. */
  incidents: TopList<ReportedEvent>;
  events: TopList<ReportedEvent>;
  changes: Changes | undefined;
  /** What is left out of the baseline; the counts above are of the other rows. Undefined without a baseline. */
  leftOutOfBaseline: OmittedRows | undefined;
  problems: string[];
}

export interface OmittedRows {
  duplicates: number;
  broken: number;
  /** Rows of another major version of the schema. */
  refused: number;
}

/** The message says why the report could not be made, or what to do. */
export class ReportError extends Error {
  override name = 'ReportError';
}
