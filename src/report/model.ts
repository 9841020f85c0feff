/** The contents of a report: plain data that each output prints in its way. Texts are those of the rows, so they are printed only through `plain`. */

export interface ReportOptions {
  /** Files, patterns, `-` for standard input. */
  rows: readonly string[];
  baseline: readonly string[];
  /** Events as JSON; their incidents are marked. */
  events: readonly string[];
  output: 'html' | 'table' | 'csv' | 'json' | 'markdown';
  /** The path of the database; must not exist yet. */
  db: string | undefined;
  includeNoise: boolean;
  /** Names of policies, with `*` and `?` as in patterns; none: all records are reported on. */
  policy: readonly string[];
  /** No row is from after it. */
  now: number;
  /** A page without rows is right: nothing was dropped. */
  mayBeEmpty?: boolean;
}

/** Packets from one to another on one service, with one outcome. */
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
  /** There were at least so many. */
  atLeast: boolean;
  records: number;
  /** The time in milliseconds since 1970. */
  first: number;
  last: number;
  /** The rule that took most of them, and how many rules there were. */
  rule: string;
  rules: number;
  /** The verdict of policies on most packets of that rule. */
  verdict: Verdict;
}

/** Whether the baseline or the rows lack it; empty for what both have. */
export type ChangedPair = Pair & { change: '' | 'new' | 'gone' };

/** `unknown` also where a record has none. */
export type Verdict = 'denied' | 'admitted' | 'unknown';

/** Packets that a policy denied or admitted, or of which only the log names it. One that several policies denied is of each of them. */
export interface PolicySum {
  /** `NetworkPolicy shop/default-deny`; `(not named)`. */
  policy: string;
  verdict: Verdict;
  packets: number;
  /** There were at least so many. */
  atLeast: boolean;
  records: number;
  pairs: number;
  /** The number of Namespaces of the sources and destinations, and those with most packets. */
  namespaces: number;
  topNamespaces: string[];
  /** The time in milliseconds since 1970. */
  first: number;
  last: number;
}

/** One row of a list of the most frequent. */
export interface Count {
  name: string;
  packets: number;
  records: number;
}

export interface Ranking {
  top: Count[];
  /** The rest that `top` does not have. */
  others: { names: number; packets: number };
}

export const rankings = ['from', 'to', 'service', 'rule', 'node'] as const;
export type RankingName = (typeof rankings)[number];

/** Packets by source and destination: rows and columns are the most frequent ones, and the last is all others. */
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
  /** Milliseconds: when it begins, and how long each interval is. */
  start: number;
  step: number;
  /** Packets of each interval by action. */
  series: { action: string; packets: number[] }[];
  /** Records whose time cannot be right, which are not in it. */
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

/** An Event of this program: its text on an object, of an incident or of packets. */
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
  /** Pairs in the rows, but not in the baseline. */
  appeared: Bounded<Pair>;
  /** Pairs in the baseline, but not in the rows. */
  vanished: Bounded<Pair>;
  /** Policies by the same. */
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
  /** Records of a schema that has no verdict of policies. */
  withoutVerdicts: number;
}

export interface Report {
  /** Names of policies that alone are reported on; none: all records are. */
  policy: readonly string[];
  extent: Extent;
  denied: number;
  atLeast: boolean;
  clusters: string[];
  nodes: number;
  pairs: number;
  /** Packets of chatter of the link, which is left out. */
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
  /** The given Events of incidents and of packets. */
  incidents: Bounded<ReportedEvent>;
  events: Bounded<ReportedEvent>;
  changes: Changes | undefined;
  duplicates: number;
  broken: number;
  refused: number;
  /** Figures about reading. */
  problems: string[];
}

/** There is no report; `message` says why, or what to do. Exit status 2. */
export class ReportError extends Error {
  override name = 'ReportError';
}
