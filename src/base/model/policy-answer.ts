/** The verdict of policies on a drop. Plain data: it can be written as JSON and read back unchanged. */
import type { PolicyName } from './packet.ts';

/** For the message of an Event. */
export interface PolicyVerdict {
  readonly outcome: 'admits' | 'denies' | 'unknown';
  /** Printable text of a limited length, the reason first. */
  readonly text: string;
  /** The advice, and who can follow it. */
  readonly act: string;
  /** The policy in the log, else the only policy that denies; undefined if several deny, or if the reader must not know it. */
  readonly policy: PolicyName | undefined;
  /** Whether the policies are those of the Pod that has the Event, and not of its peer. */
  readonly isOwn: boolean;
}

/** For a row of the audit. */
export interface PolicyFacts {
  readonly verdict: 'denied' | 'admitted' | 'unknown';
  /** `ingress`: the policies of the destination decide; `egress`: those of the source. */
  readonly direction: 'ingress' | 'egress' | undefined;
  /** The policy whose rule decides, or else the policies that isolate the Pod: `NetworkPolicy shop/default-deny`. Only the first few. */
  readonly decidedBy: readonly string[];
  /** The number of all such policies. */
  readonly count: number;
  readonly rule: string | undefined;
  /** The rule that would have admitted, with the fewest failing conditions: `NetworkPolicy shop/allow-frontend ingress[0]`. */
  readonly nearest: string | undefined;
}

/** Both results of one evaluation. */
export interface PolicyAnswer {
  readonly verdict: PolicyVerdict;
  readonly facts: PolicyFacts;
}
