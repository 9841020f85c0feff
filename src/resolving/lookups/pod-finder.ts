import type { LookupWay } from '../../model/lookup-way.ts';
import type { Pod } from '../objects.ts';

/** Whose an address is, as one way has found out. */
export interface Owners {
  /** Pods that use the address, those on the host's network too, and others that came with the same answer. */
  pods: readonly Pod[];
  /** Name of the node whose own address it is, where the answer names it. */
  node?: string | undefined;
}

/** One way to find the Pods of an address. */
export interface PodFinder {
  readonly way: LookupWay;
  /** Undefined: not an address of this way. No Pods, no node: not in use. Rejects when not known now; `OverBudget`: not asked. */
  find: (address: string) => Promise<Owners | undefined>;
  /** Whether this way leads anywhere in this cluster, for a log line and for doctor. Never rejects. */
  look: () => Promise<WayState>;
}

export interface WayState {
  usable: boolean;
  /** For a person, without the name of the way. */
  why: string;
}

/** A look-up that would cost more than its way may. */
export class OverBudget extends Error {}
