import { randomUUID } from 'node:crypto';
import {
  createSegment,
  encodeBatch,
  isNoRoom,
  type KeptChange,
  lossIn,
  removeSegment,
  type Segment,
  segmentsIn,
  type SegmentSizes,
  textOf,
} from './segments.ts';

export interface KeptState {
  /** Another number after every change of what is counted, or waits to be. */
  revision: () => number;
  /** Changes since the last call, in order; taken in one step between two lines. */
  takeChanges: () => KeptChange[];
  /** All that there is, one `set` for each key, as it is when it is taken out of the iterator. */
  all: () => IterableIterator<KeptChange>;
}

export interface BatchWriterOptions {
  folder: string;
  /** Segments that lie in the folder. They are removed once all of the state is in the first batch. */
  segments?: Readonly<SegmentSizes>;
  create?: typeof createSegment;
  state: KeptState;
  /** The files are no longer there, for the reason given; all of the state is written again. */
  lost: (reason: string) => void;
  /** Bytes after which a segment is followed by another one, at least. */
  segmentSize?: number;
}

/** Appends what has changed to a log in segments, one batch at a time. */
export function createBatchWriter(options: BatchWriterOptions) {
  const { state, lost, segmentSize = 1024 * 1024 } = options;
  const files = createSegmentFiles(options);
  /** Whether what lies in the folder is not to be built upon: the next batch holds everything. */
  let isNew = true;
  /** The batch of a write that failed goes first; nothing more is taken before it is on disk. */
  let unwritten: readonly KeptChange[] | undefined;
  let round: Round | undefined;
  /** Bytes of everything, when all of it was last written. */
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
    lost(loss);
    isNew = true;
    await files.giveUp();
    return await writeChanges();
  }

  async function writeChanges(): Promise<number> {
    const current = await openSegment();
    const changes = takeChanges();
    const revision = state.revision();
    if (changes.length > 0) await writeBatch(current, (unwritten = changes));
    return revision;
  }

  /** Takes the slice in the same step as the changes, so that a batch is true at one moment. */
  function takeChanges(): KeptChange[] {
    const changes = state.takeChanges();
    if (round === undefined) return changes;
    if (!isNew) return [...changes, ...nextSlice(round)];
    isNew = false;
    round.isTaken = true;
    return [['clear'], ...state.all()];
  }

  async function writeBatch(current: Segment, batch: readonly KeptChange[]): Promise<void> {
    const bytes = await files.append(current, encodeBatch(batch));
    unwritten = undefined;
    if (round === undefined) return;
    round.bytes += bytes;
    if (!round.isTaken) return;
    const { began } = round;
    whole = round.bytes;
    round = undefined;
    await files.removeBefore(began);
  }

  async function openSegment(): Promise<Segment> {
    const before = files.current;
    const isFull = before !== undefined && before.size >= Math.max(segmentSize, 2 * whole);
    if (before !== undefined && (round !== undefined || !isFull)) return before;
    const segment = await files.add();
    round = { began: segment.number, rest: state.all(), isTaken: false, bytes: 0 };
    await before?.close();
    return segment;
  }
}

/** Bytes of what did not change that are written beside what did: a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

/** Everything is written once more, a slice with each batch, so that older segments are needed no longer. */
interface Round {
  /** Number of its first segment. */
  began: number;
  rest: Iterator<KeptChange>;
  /** All is on disk with the batch under way. */
  isTaken: boolean;
  /** Bytes of its batches. */
  bytes: number;
}

function nextSlice(round: Round): string[] {
  const changes: string[] = [];
  for (let room = sliceSize; room > 0;) {
    const { value, done } = round.rest.next();
    if (done === true) {
      round.isTaken = true;
      break;
    }
    const change = textOf(value);
    changes.push(change);
    room -= change.length;
  }
  return changes;
}

/** Keeps the segments in a folder. Batches go to the current one. */
function createSegmentFiles({ folder, segments, create = createSegment }: BatchWriterOptions) {
  const writer = randomUUID();
  const sizes: SegmentSizes = new Map(segments);
  let current: Segment | undefined;

  return {
    get current(): Segment | undefined {
      return current;
    },
    /** Bytes of all of them, as far as they are known. */
    size: (): number => sizes.values().reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
    /** Makes another one, the current one from now. The one before is not closed. */
    async add(): Promise<Segment> {
      const number = 1 + Math.max(0, ...sizes.keys(), ...(await segmentsIn(folder)));
      // There may be a file even where making it failed.
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
    close: closeCurrent,
    loss: (): Promise<string | undefined> => lossIn(folder, sizes),
    /** Trusts none of them any more. */
    async giveUp(): Promise<void> {
      for (const number of sizes.keys()) sizes.set(number, undefined);
      await closeCurrent();
    },
    /** Removes older segments, also those of another agent, which then writes all of its state again. */
    async removeBefore(first: number): Promise<void> {
      for (const number of [...sizes.keys(), ...(await segmentsIn(folder))]) {
        if (number >= first) continue;
        await removeSegment(folder, number);
        sizes.delete(number);
      }
    },
  };

  /** Closes the current segment; its size is not known any more. */
  async function closeCurrent(): Promise<void> {
    const before = current;
    current = undefined;
    if (before === undefined) return;
    sizes.set(before.number, undefined);
    await before.close().catch(() => undefined);
  }
}
