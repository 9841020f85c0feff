import type { Refusal } from '../events/event-store.ts';
import type { Millis } from '../model/log-line.ts';

/** Why a list or a watch had to begin again. */
export interface InformerProblem {
  verb: 'list' | 'watch';
  /** Undefined: a watch that went on was silent, or broke. That alone is no failure: connections do. */
  refusal: Refusal | undefined;
  silent?: boolean;
}

export interface InformerHealthOptions {
  onProblem: (problem: InformerProblem) => void;
  /** A list is complete and has been handed over, or a watch goes on after a problem. */
  onSynced: () => void;
  now: () => Millis;
}

/** Whether the server answers what an informer asks. */
export function createInformerHealth({ onProblem, onSynced, now }: InformerHealthOptions) {
  /** Since the last problem. */
  let isWell = false;
  let lastHeard: Millis | undefined;

  return {
    /** When the server was last heard; undefined before the first answer. */
    get lastHeard(): Millis | undefined {
      return lastHeard;
    },
    answered(): void {
      lastHeard = now();
      if (!isWell) onSynced();
      isWell = true;
    },
    failed(problem: InformerProblem): void {
      isWell = false;
      onProblem(problem);
    },
  };
}
