import type { IncidentDetails, NodeFacts } from '../../../base/model/incident.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { TableReport } from '../../../base/model/observation.ts';
import type { Failing, FailureSign, ProgramRecord } from '../../../base/model/program-record.ts';

export interface CauseMatch {
  subject?: string | undefined;
  /** The line that shows the cause. Default: the first line of the error, or else the message. */
  quote?: string | undefined;
}

/** One row of the catalogue: everything about one cause, except its page in docs/causes. */
export interface CauseRow {
  /** Such as `KN102`. It appears in Events, never changes its meaning, and is never reused for another cause. */
  code: string;
  /** Such as `service-chain-missing`, whose page is docs/causes/KN102-service-chain-missing.md. */
  name: string;
  /** The title in lists and headings, such as `A chain of kube-proxy is gone`. */
  title: string;
  /** The reason of the Event, and (`overReason`) of the Event about the incident's end. */
  reason: string;
  overReason: string;

  /** The programs whose records are searched. Default: none, for causes that are diagnosed from others or come from the kernel. */
  programs?: readonly Failing[];
  /** Literals. Every record that `match` accepts contains one of them, except fatal records of klog. Printable ASCII, at least eight characters. */
  needles?: readonly string[];
  /** Beginnings of info records for which `match` is also called. Other info records are not failures. */
  infoOpenings?: readonly string[];
  /** Returns undefined for records of other causes. Never throws, and takes linear time. */
  match?: (record: ProgramRecord) => CauseMatch | undefined;
  /** Reads a kernel line about a full table, or the fill level of a table. */
  matchTable?: (report: TableReport) => Pick<FailureSign, 'family' | 'subject' | 'quote'> | undefined;
  explains?: Explanation;
  /** The record gives no reason, so it is ignored right after a failure that gave a reason. */
  isConsequence?: true;
  /** A single failure makes an incident if the host's firewall began to drop packets at the same time. */
  confirmedByFirewallDrops?: true;
  /** Only another program can have deleted the chain that is the subject, so the second failure opens the incident. */
  deletedByOthers?: true;

  /** The usual time between two lines while the failure lasts. Default: 30 s, after which kube-proxy repeats a failed sync. */
  retryInterval?: Millis;
  /** A successful sync ends the incident. Not set for failures outside a sync: a clean-up, a single IPVS service, overwritten rules. */
  endsWithSync?: true;
  /** This cause never explains a restart, even if it was the last thing that the program logged. */
  neverFatal?: true;

  /** The facts that the diagnosis needs. Default: FelixConfiguration, because kube-proxy's and Calico's rules depend on it. */
  asks?: 'conntrack' | 'host-conntrack' | 'nothing';

  /** English sentences without line breaks, each text at most 300 bytes: what is broken for whom; why, if known; what to run. */
  what: (details: IncidentDetails, node: string) => string;
  why: (details: IncidentDetails, node: string) => string;
  fix: (details: IncidentDetails, node: string) => string;
  /** One sentence about what an affected Pod loses. Without this field, the cause is a warning, and no Pod is notified. */
  impact?: (details: IncidentDetails) => string;
}

export interface Explanation {
  codes: readonly string[];
  when: (facts: NodeFacts, symptoms: Symptoms) => boolean;
  /** Returns a hint about an incident that this cause does not explain; at most 160 bytes. */
  hint?: (details: HintDetails) => string | undefined;
}

export interface Symptoms {
  failing: Failing;
  subjects: readonly string[];
  first: Millis;
  last: Millis;
}

export type HintDetails = Pick<IncidentDetails, 'code' | 'diagnosis' | 'facts'>;

/** A row with all defaults filled in. */
export interface Cause extends CauseRow {
  programs: readonly Failing[];
  needles: readonly string[];
  match: (record: ProgramRecord) => CauseMatch | undefined;
  retryInterval: Millis;
  /** `serious`: affected Pods are also notified. `warning`: only the failing Pod and the Node get Events. */
  severity: 'serious' | 'warning';
}
