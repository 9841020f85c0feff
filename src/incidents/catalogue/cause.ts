import type { IncidentDetails, NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { TableReport } from '../../model/observation.ts';
import type { Failing, FailureSign, ProgramRecord } from '../../model/program-record.ts';

/** The result of a row for a record. */
export interface Match {
  subject?: string | undefined;
  /** The line that shows it; default: the first line of the error, else the message. */
  quote?: string | undefined;
}

/** One row of the catalogue: all that is known of one cause, apart from its page in docs/causes. */
export interface CauseRow {
  /** `KN102`: stands in Events, never changes its meaning and is never used again for another. */
  code: string;
  /** `service-chain-missing`: its page is docs/causes/KN102-service-chain-missing.md. */
  name: string;
  /** The title in lists and headings: `A chain of kube-proxy is gone`. */
  title: string;
  /** The Event's reason, and that of the Event that says it is over. */
  reason: string;
  overReason: string;

  /** The programs in whose records it is looked for; default: none, for causes that are diagnosed from others, or are the kernel's. */
  programs?: readonly Failing[];
  /** Printable ASCII of eight characters or more: one of these stands in every record that `match` answers, fatal records of klog apart. */
  needles?: readonly string[];
  /** Beginnings of records of mere information that `match` is asked about all the same. */
  infoOpenings?: readonly string[];
  /** Returns undefined for records of other causes. Never throws, and takes linear time. */
  match?: (record: ProgramRecord) => Match | undefined;
  /** Reads a line of the kernel about a full table, or how full a table is. */
  matchTable?: (report: TableReport) => Pick<FailureSign, 'family' | 'subject' | 'quote'> | undefined;
  /** The cause that lies behind others, as far as the facts show. */
  explains?: Explanation;
  /** The record gives no reason; right after a failure with a reason it is ignored. */
  isConsequence?: true;
  /** A single failure is an incident if the host's firewall began to drop packets at the same time. */
  confirmedByFirewallDrops?: true;
  /** Its subject is a chain that only another program can have deleted, so the second failure opens the incident. */
  deletedByOthers?: true;

  /**
   * The usual time between its lines while it lasts: what is retried every 30 s is not over after 40 s of silence.
   * Default: 30 s, after which kube-proxy tries a failed sync again.
   */
  retryInterval?: Millis;
  /** A successful sync ends it. This is not set for failures outside a sync: a clean-up, one IPVS service, overwritten rules. */
  endsWithSync?: true;
  /** A restart is never due to this cause, even if it was the last that the program logged. */
  neverFatal?: true;

  /** Facts that are asked for in addition to the lines. Default: FelixConfiguration, on which kube-proxy's rules and Calico's depend. */
  asks?: 'conntrack' | 'host-conntrack' | 'nothing';

  /** English sentences without line breaks, each text at most 300 bytes: what is broken for whom; why, if known; what to run. */
  what: (details: IncidentDetails, node: string) => string;
  why: (details: IncidentDetails, node: string) => string;
  fix: (details: IncidentDetails, node: string) => string;
  /** One short sentence for an affected Pod: what it can no longer count on. Default: a warning, of which Pods are not notified. */
  impact?: (details: IncidentDetails) => string;
}

/** Decides whether one cause lies behind another. */
export interface Explanation {
  codes: readonly string[];
  when: (facts: NodeFacts, symptoms: Symptoms) => boolean;
  /** Adds what else to know about an incident that it does not explain; at most 160 bytes. */
  hint?: (details: HintDetails) => string | undefined;
}

/** What the lines show, as a basis of the diagnosis beside the facts. */
export interface Symptoms {
  failing: Failing;
  /** Chains, as far as the lines name them. */
  subjects: readonly string[];
  first: Millis;
  last: Millis;
}

export type HintDetails = Pick<IncidentDetails, 'code' | 'diagnosis' | 'facts'>;

/** A row with its defaults. */
export interface Cause extends CauseRow {
  programs: readonly Failing[];
  needles: readonly string[];
  match: (record: ProgramRecord) => Match | undefined;
  retryInterval: Millis;
  /** `serious`: Pods are affected and notified; `warning`: only the failing Pod and the Node are. */
  severity: 'serious' | 'warning';
}
