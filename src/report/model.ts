/** The contents of a report as plain data. Strangers write the texts, so outputs print them only through `plain`. */

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
  /** Names of policies, with `*` and `?` as in patterns; none: all records. */
  policy: readonly string[];
  /** No row is from after it. */
  now: number;
  /** A page without rows is no error. */
  mayBeEmpty?: boolean;
}

/** Packets from one end to another, on one service, with one outcome. */
export interface Pair {
  /** 1 has the most packets. */
  place: number;
  from: string;
  fromGroup: string;
  to: string;
  toGroup: string;
  /** `tcp/5432`. */
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
  /** The rule that met most packets, and the number of rules. */
  rule: string;
  rules: number;
  /** The verdict on most packets of that rule. */
  verdict: Verdict;
}

/** `new` if the baseline lacks it, `gone` if the rows lack it. */
export type ChangedPair = Pair & { change: '' | 'new' | 'gone' };

/** `unknown`: also of a record without a verdict. */
export type Verdict = 'denied' | 'admitted' | 'unknown';

/** Packets that a policy denied or admitted, or whose log names it. A packet that several policies denied counts for each. */
export interface PolicySum {
  /** `NetworkPolicy shop/default-deny`; `(not named)`. */
  policy: string;
  verdict: Verdict;
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
  /** What `top` does not have. */
  others: { names: number; packets: number };
}

export const rankings = ['from', 'to', 'service', 'rule', 'node'] as const;
export type RankingName = (typeof rankings)[number];

/** Packets by source and destination. Rows and columns are the most frequent ones; the last ones are all others. */
export interface Matrix {
  rows: string[];
  columns: string[];
  /** The number in the last row and in the last column; 0 if there is none. */
  otherRows: number;
  otherColumns: number;
  /** `cells[row][column]`. */
  cells: number[][];
}

export interface TimeLine {
  /** The beginning, and the length of each interval. */
  start: number;
  step: number;
  /** Packets of each interval. */
  series: { action: string; packets: number[] }[];
  /** Records that are left out, because their time cannot be right. */
  outside: number;
}

/** Loss that the audit knows of. */
export interface Gap {
  reason: string;
  node: string;
  /** Intervals with loss, and records that are missing at least. */
  intervals: number;
  lost: number;
  first: number;
  last: number;
}

/** A source that was denied by many destinations within an hour. */
export interface Scan {
  from: string;
  /** Most destinations in one hour. */
  destinations: number;
  hours: number;
  packets: number;
  first: number;
  last: number;
}

/** An Event of this program, about an incident or about packets. */
export interface ReportedEvent {
  reason: string;
  object: string;
  message: string;
  count: number;
  first: number;
  last: number;
}

export interface Bounded<T> {
  top: T[];
  /** The number that is left out. */
  more: number;
}

export interface Changes {
  /** Pairs that only the rows have. */
  appeared: Bounded<Pair>;
  /** Pairs that only the baseline has. */
  vanished: Bounded<Pair>;
  policies: { appeared: Bounded<PolicySum>; vanished: Bounded<PolicySum> };
  baseline: Extent;
}

export interface Extent {
  records: number;
  packets: number;
  /** Undefined without any record. */
  first: number | undefined;
  last: number | undefined;
  gaps: number;
  /** Records of a schema without verdicts. */
  withoutVerdicts: number;
}

export interface Report {
  /** As in the options. */
  policy: readonly string[];
  extent: Extent;
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
  top: Bounded<Pair>;
  policies: Bounded<PolicySum>;
  rankings: Record<RankingName, Ranking>;
  namespaces: Matrix;
  workloads: Matrix;
  timeLine: TimeLine | undefined;
  gaps: Bounded<Gap>;
  scans: Bounded<Scan>;
  /** Events of incidents, and of packets. */
  incidents: Bounded<ReportedEvent>;
  events: Bounded<ReportedEvent>;
  changes: Changes | undefined;
  duplicates: number;
  broken: number;
  refused: number;
  problems: string[];
}

/** There is no report. The message says why, or what to do. */
export class ReportError extends Error {
  override name = 'ReportError';
}
