import type { LookupWay } from '../../model/choices.ts';
import type { Pod } from '../objects.ts';

/** The owners of an address, as one way has found them. */
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
  /** The reason for a person, without the name of the way. */
  why: string;
}

/** A look-up that would cost more than its way may. */
export class OverBudget extends Error {}

export type WayResult = 'hit' | 'miss' | 'failed' | 'refused';

export type FinderChain = ReturnType<typeof createFinderChain>;

/** `onEnd` is called when a way has answered (undefined) or failed, `onFirst` once, after the first look-up. */
export function createFinderChain(
  finders: readonly PodFinder[],
  onFirst: () => void,
  onEnd: (way: LookupWay, error: unknown) => void,
) {
  const counts: ReadonlyMap<LookupWay, Record<WayResult, number>> = new Map(
    finders.map(({ way }) => [way, { hit: 0, miss: 0, failed: 0, refused: 0 }]),
  );
  let isFirst = true;

  return { /** The counts of the finders, in their order. */ counts, find };

  /** The first answer, in the order of the finders. Rejects where there is none and one of them has failed. */
  async function find(address: string): Promise<Owners> {
    let failure: unknown;
    for (const finder of finders) {
      try {
        const owners = await finder.find(address);
        if (owners === undefined) continue;
        count(finder.way, owners.pods.length > 0 || owners.node !== undefined ? 'hit' : 'miss');
        onEnd(finder.way, undefined);
        noteFirst();
        return owners;
      } catch (error) {
        const refused = error instanceof OverBudget;
        count(finder.way, refused ? 'refused' : 'failed');
        if (!refused) onEnd(finder.way, error);
        failure = error;
      }
    }
    noteFirst();
    if (failure !== undefined) throw failure;
    return { pods: [] };
  }

  function count(way: LookupWay, result: WayResult): void {
    const own = counts.get(way);
    if (own !== undefined) own[result]++;
  }

  function noteFirst(): void {
    if (!isFirst) return;
    isFirst = false;
    onFirst();
  }
}

/** Asks each way for its state. Answers of earlier look-ups are remembered, so that this costs little. */
export async function statesOf(finders: readonly PodFinder[]): Promise<(WayState & { way: LookupWay })[]> {
  return await Promise.all(finders.map(async ({ way, look }) => ({ way, ...(await look()) })));
}
