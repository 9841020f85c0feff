import { randomUUID } from 'node:crypto';
import { createSegment, lossIn, removeSegment, type Segment, segmentsIn, type SegmentSizes } from './segments.ts';

export interface SegmentFilesOptions {
  folder: string;
  /** What lies in the folder. */
  segments?: Readonly<SegmentSizes>;
  create?: typeof createSegment;
}

/** The segments in a folder. Batches go to the current one. */
export function createSegmentFiles({ folder, segments, create = createSegment }: SegmentFilesOptions) {
  const writer = randomUUID();
  const sizes: SegmentSizes = new Map(segments);
  let current: Segment | undefined;

  return {
    get current(): Segment | undefined {
      return current;
    },
    /** Bytes of all of them, as far as they are known. */
    size: (): number => sizes.values().reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
    /** Makes another one, which is the current one from now. The one before is not closed. */
    async add(): Promise<Segment> {
      const number = 1 + Math.max(0, ...sizes.keys(), ...(await segmentsIn(folder)));
      // Also when it cannot be made, there may be a file.
      sizes.set(number, undefined);
      current = await create(folder, number, writer);
      sizes.set(number, current.size);
      return current;
    },
    /** Returns how many bytes the batch has. A segment that cannot be used any more is no longer the current one. */
    async append(segment: Segment, batch: Iterable<Buffer>): Promise<number> {
      const before = segment.size;
      try {
        await segment.append(batch);
      } catch (error) {
        if (!segment.usable) await closeCurrent();
        throw error;
      }
      sizes.set(segment.number, segment.size);
      return segment.size - before;
    },
    /** Until the next one is made, no file is open. */
    close: closeCurrent,
    loss: (): Promise<string | undefined> => lossIn(folder, sizes),
    /** What they hold is not what was written. */
    async giveUp(): Promise<void> {
      for (const number of sizes.keys()) sizes.set(number, undefined);
      await closeCurrent();
    },
    /** Also those of another agent, which then writes all of its state again. */
    async removeBefore(first: number): Promise<void> {
      for (const number of [...sizes.keys(), ...(await segmentsIn(folder))]) {
        if (number >= first) continue;
        await removeSegment(folder, number);
        sizes.delete(number);
      }
    },
  };

  /** What may stand at its end is not known. */
  async function closeCurrent(): Promise<void> {
    const before = current;
    current = undefined;
    if (before === undefined) return;
    sizes.set(before.number, undefined);
    await before.close().catch(() => undefined);
  }
}
