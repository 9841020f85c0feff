import type { IncidentDetails } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing, ProgramRecord } from '../../model/program-record.ts';

/** What a row found in a record. */
export interface Match {
  subject?: string | undefined;
  /** The line of the text that tells; default: the first line of the error, else the message. */
  quote?: string | undefined;
}

/** One row of the catalogue of causes. */
export interface Cause {
  /** `KN102`: stands in Events, never changes its meaning and is never used again for another. */
  code: string;
  /** `service-chain-missing`: its page is docs/causes/KN102-service-chain-missing.md. */
  name: string;
  /** For lists and headings: `A chain of kube-proxy is gone`. */
  title: string;
  /** `serious`: Pods suffer and are told; `warning`: only the culprit and the Node are told. */
  severity: 'serious' | 'warning';
  /** The Event's reason, and that of the Event that says it is over. */
  reason: string;
  overReason: string;
  /** About how far apart its lines come while it lasts: what is retried every 30 s is not over after 40 s of silence. */
  retryInterval: Millis;
  /**
   * A sync of its program that succeeds proves it gone. Not so for what is complained of beside a sync: a clean-up of another mode,
   * what nft cannot list, one IPVS service, rules that somebody overwrites between two syncs.
   */
  provenBySync?: true;
  /** No program ever died of it: it is complained of at any time, also before a program is started again for another reason. */
  endsNoProgram?: true;
  /** Its subject is a chain that its program made and that only somebody else can have deleted: a second time is no accident. */
  isForeignHand?: true;
  /** Whose records it is looked for in; empty for causes that are diagnosed from others, or are the kernel's. */
  programs: readonly Failing[];
  /** Printable ASCII of eight characters or more: one of these stands in every record that `match` answers, fatal records of klog apart. */
  needles: readonly string[];
  /** Undefined: not mine. Never throws; linear in the length of the text. */
  match: (record: ProgramRecord) => Match | undefined;
  /**
   * Whole sentences of English without line breaks, each of the three at most 300 bytes. What is broken and whom it hurts; why,
   * as far as the story tells; what to run.
   */
  what: (details: IncidentDetails, node: string) => string;
  why: (details: IncidentDetails, node: string) => string;
  fix: (details: IncidentDetails, node: string) => string;
  /** One short sentence for a Pod that suffers: what it can no longer count on. Undefined: Pods are not told. */
  impact: ((details: IncidentDetails) => string) | undefined;
}
