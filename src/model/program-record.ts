/** A record that kube-proxy or calico-node wrote about its own work, and the sign of failure or success in it. Plain data: it can be written as JSON and read back unchanged. */
import type { Millis } from './log-line.ts';

/** The writer of a record in the log of a container. `felix`, `confd` and `bird` are the parts of calico-node. */
export type Program = 'kube-proxy' | 'felix' | 'confd' | 'bird' | 'calico-node' | 'unknown';

/** A record that a program wrote about its own work: what it says, and nothing about what that means. */
export interface ProgramRecord {
  kind: 'program-record';
  program: Program;
  severity: 'debug' | 'info' | 'warning' | 'error' | 'fatal';
  /** Source file without line number, `proxier.go`, `felix/table.go`; '' where the record names none. */
  caller: string;
  /** The text without quotes and fields: `Failed to execute iptables-restore`. */
  message: string;
  /** `ipFamily`, `retryingTime`, `error`, …: decoded values by key, the first 4 KiB of each. Rule dumps (`rules`) are left out. */
  fields: Readonly<Record<string, string>>;
  /** All error text of the record (`err`, `error`, `errorOutput`, `stderr`), with `\n` between lines; '' without any. */
  error: string;
}

/** The failing part: a program, or the kernel. */
export type Failing = Program | 'kernel';

/** The sign of failure or success in one line. */
export type Sign = FailureSign | SyncSign;

export interface FailureSign {
  kind: 'failure';
  /** `KN102`: a row of the catalogue of causes. */
  code: string;
  failing: Failing;
  /** `IPv4`, `IPv6`, or '' where the line names neither. */
  family: string;
  /** The part that varies from line to line within one cause: a chain, a kernel module, a BGP peer, a network namespace. */
  subject: string | undefined;
  /** The line of the text that shows the failure, for a person; at most 200 characters. */
  quote: string;
  /** The backend of iptables, as far as the text shows: `iptables-restore v1.8.8 (legacy)`. */
  backend: 'legacy' | 'nf_tables' | undefined;
}

/** The end of an update of rules. kube-proxy logs `SyncProxyRules complete` after a failed one, too, after `Sync failed`. */
export interface SyncSign {
  kind: 'sync-failed' | 'sync-complete';
  failing: Failing;
  family: string;
  /** The time of the next attempt; undefined if the line gives none. */
  retry: Millis | undefined;
}
