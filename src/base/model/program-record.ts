/** Records of kube-proxy and calico-node about their own work, and the signs of failure or success in them. Plain data. */
import type { Millis } from './log-line.ts';

/** The writer of a record in a container's log. `felix`, `confd` and `bird` are parts of calico-node. */
export type Program = 'kube-proxy' | 'felix' | 'confd' | 'bird' | 'calico-node' | 'kube-router' | 'unknown';

export interface ProgramRecord {
  kind: 'program-record';
  program: Program;
  severity: 'debug' | 'info' | 'warning' | 'error' | 'fatal';
  /** The source file without line number, such as `proxier.go` or `felix/table.go`; '' if the record does not name one. */
  caller: string;
  /** The text without quotes and fields, such as `Failed to execute iptables-restore`. */
  message: string;
  /** Decoded values by key (`ipFamily`, `retryingTime`, `error`, …), the first 4 KiB of each. Rule dumps (`rules`) are left out. */
  fields: Readonly<Record<string, string>>;
  /** All error texts of the record (`err`, `error`, `errorOutput`, `stderr`), joined by `\n`; '' without any. */
  error: string;
}

export type Failing = Program | 'kernel';

export type Sign = FailureSign | SyncSign;

export interface FailureSign {
  kind: 'failure';
  /** A row of the catalogue of causes, such as `KN102`. */
  code: string;
  failing: Failing;
  /** `IPv4`, `IPv6`, or '' if the line names neither. */
  family: string;
  /** The part that varies between lines of one cause: a chain, a kernel module, a BGP peer, a network namespace. */
  subject: string | undefined;
  /** The line of the text that shows the failure to a person; at most 200 characters. */
  quote: string;
  /** The iptables backend, if the text shows it: `iptables-restore v1.8.8 (legacy)`. */
  backend: 'legacy' | 'nf_tables' | undefined;
}

/** The end of an update of rules. kube-proxy logs `SyncProxyRules complete` even after a failed one, following `Sync failed`. */
export interface SyncSign {
  kind: 'sync-failed' | 'sync-complete';
  failing: Failing;
  family: string;
  /** The time to the next attempt; undefined if the line has none. */
  retry: Millis | undefined;
}
