import type { LookupWay } from '../../model/choices.ts';
import type { Pod } from '../objects.ts';

export interface Owners {
  /** Pods with this address, including those on the host's network, and other Pods from the same answer. */
  pods: readonly Pod[];
  /** The node that has the address itself, if the answer says so. */
  node?: string | undefined;
}

export interface PodFinder {
  readonly way: LookupWay;
  /**
   * Undefined: this way does not know such addresses. Without Pods and node, nobody has the address. Rejects if there is no answer; with
   * `OverBudget` if it was not asked.
   */
  find: (address: string) => Promise<Owners | undefined>;
  /** Returns whether this way works in this cluster. Undefined if `doctor` has to look itself. Never rejects. */
  look?: () => Promise<WayState>;
}

export interface WayState {
  usable: boolean;
  why: string;
}

/** Rejects a look-up because the budget of a way is used up. */
export class OverBudget extends Error {}

export type WayResult = 'hit' | 'miss' | 'failed' | 'refused';

export type FinderChain = ReturnType<typeof createFinderChain>;

/** `onEnd`: called when a way has answered (with undefined) or failed. */
export function createFinderChain(finders: readonly PodFinder[], onEnd: (way: LookupWay, error: unknown) => void) {
  const counts: ReadonlyMap<LookupWay, Record<WayResult, number>> = new Map(
    finders.map(({ way }) => [way, { hit: 0, miss: 0, failed: 0, refused: 0 }]),
  );

  return { /** The counts of the finders, in their order. */ counts, find };

  /** Returns the first answer. Rejects if no way has answered and one has failed. */
  async function find(address: string): Promise<Owners> {
    let failure: unknown;
    for (const finder of finders) {
      try {
        const owners = await finder.find(address);
        if (owners === undefined) continue;
        count(finder.way, owners.pods.length > 0 || owners.node !== undefined ? 'hit' : 'miss');
        onEnd(finder.way, undefined);
        return owners;
      } catch (error) {
        const refused = error instanceof OverBudget;
        count(finder.way, refused ? 'refused' : 'failed');
        if (!refused) onEnd(finder.way, error);
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    return { pods: [] };
  }

  function count(way: LookupWay, result: WayResult): void {
    const own = counts.get(way);
    if (own !== undefined) own[result]++;
  }
}
