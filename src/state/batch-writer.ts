import { rm } from 'node:fs/promises';
import { createRound, type Round } from './round.ts';
import { createSegmentFiles, type SegmentFilesOptions } from './segment-files.ts';
import { encodeBatch, isNoRoom, type KeptChange, type Segment } from './segments.ts';

export interface KeptState {
  /** Another number after every change of what is counted, or waits to be. */
  revision: () => number;
  /** What has changed since the last call, in order; taken in one step between two lines. */
  takeChanges: () => KeptChange[];
  /** All that there is, one `set` for each key, as it is when it is taken out of the iterator. */
  all: () => IterableIterator<KeptChange>;
}

/** The `segments` are removed once all of the state is in the first batch. */
export interface BatchWriterOptions extends SegmentFilesOptions {
  state: KeptState;
  /** File of an older version that the state was read from: removed then, too. */
  replaced?: string | undefined;
  /** What was written is no longer there, for the reason given; all of it is written again. */
  onLost: (reason: string) => void;
  /** Bytes after which a segment is followed by another one, at least. */
  segmentSize?: number;
}

/** Appends what has changed to a log in segments, one batch at a time. */
export function createBatchWriter(options: BatchWriterOptions) {
  const { state, onLost, segmentSize = 1024 * 1024 } = options;
  let { replaced } = options;
  const files = createSegmentFiles(options);
  /** Whether what lies in the folder is not to be built upon: the next batch holds everything. */
  let isNew = true;
  /** What a write that failed was to write: it goes first, and nothing more is taken before it is on disk. */
  let unwritten: readonly KeptChange[] | undefined;
  let round: Round | undefined;
  /** Bytes of everything, when it was last written from one end to the other. */
  let whole = 0;

  return {
    /** Resolves to the revision that is on disk now. */
    write: (): Promise<number> =>
      writeAll().catch(async (error: unknown) => {
        // A disk that has failed can be unmounted and repaired only when nothing is open on it.
        if (!isNoRoom(error)) await files.close();
        throw error;
      }),
    /** Bytes of all that is kept. */
    size: files.size,
  };

  async function writeAll(): Promise<number> {
    if (unwritten !== undefined) await writeBatch(await openSegment(), unwritten);
    const revision = await writeChanges();
    const loss = await files.loss();
    if (loss === undefined) return revision;
    onLost(loss);
    isNew = true;
    await files.giveUp();
    return await writeChanges();
  }

  async function writeChanges(): Promise<number> {
    const current = await openSegment();
    const changes = takeChanges();
    const revision = state.revision();
    if (changes.length > 0) await writeBatch(current, (unwritten = changes));
    if (replaced !== undefined) await rm(replaced, { force: true });
    replaced = undefined;
    return revision;
  }

  /** What did not change is taken in the same step as what did, so that a batch is true at one moment. */
  function takeChanges(): KeptChange[] {
    const changes = state.takeChanges();
    if (round === undefined) return changes;
    if (!isNew) return [...changes, ...round.slice()];
    isNew = false;
    round.end();
    return [['clear'], ...state.all()];
  }

  async function writeBatch(current: Segment, batch: readonly KeptChange[]): Promise<void> {
    const bytes = await files.append(current, encodeBatch(batch));
    unwritten = undefined;
    round?.wrote(bytes);
    if (round?.ended === true) await endRound(round);
  }

  async function openSegment(): Promise<Segment> {
    const before = files.current;
    const isFull = before !== undefined && before.size >= Math.max(segmentSize, 2 * whole);
    if (before !== undefined && (round !== undefined || !isFull)) return before;
    const segment = await files.add();
    round = createRound(segment.number, state.all());
    await before?.close();
    return segment;
  }

  async function endRound({ began, bytes }: Round): Promise<void> {
    round = undefined;
    whole = bytes;
    await files.removeBefore(began);
  }
}
