import { type KeptChange, textOf } from './segments.ts';

/** Bytes of what did not change that are written beside what did: a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

export type Round = ReturnType<typeof createRound>;

/** Everything written once more, a slice with each batch, so that older segments are needed no longer. `began`: number of its first segment. */
export function createRound(began: number, rest: Iterator<KeptChange>) {
  let ended = false;
  let bytes = 0;

  return {
    began,
    /** All is taken, and on disk with the batch under way. */
    get ended(): boolean {
      return ended;
    },
    /** Bytes of its batches. */
    get bytes(): number {
      return bytes;
    },
    wrote: (more: number): void => void (bytes += more),
    /** All is in the batch under way. */
    end: (): void => void (ended = true),
    /** The next few of what is written again. */
    slice(): string[] {
      const changes: string[] = [];
      for (let room = sliceSize; room > 0;) {
        const { value, done } = rest.next();
        if (done === true) {
          ended = true;
          break;
        }
        const change = textOf(value);
        changes.push(change);
        room -= change.length;
      }
      return changes;
    },
  };
}
