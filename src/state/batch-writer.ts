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
  /** Changes with the counts and with what waits. */
  revision: () => number;
  /** Changes since the last call, in order, taken between two lines. */
  takeChanges: () => KeptChange[];
  /** Everything, one `set` for each key, copied when it is taken out. */
  all: () => IterableIterator<KeptChange>;
}

export interface BatchWriterOptions {
  folder: string;
  /** Segments in the folder, removed once all of the state is in the first batch. */
  segments?: Readonly<SegmentSizes>;
  create?: typeof createSegment;
  state: KeptState;
  /** Tells that the files are gone or changed; all of the state is written again. */
  lost: (reason: string) => void;
  /** A segment of so many bytes is followed by another. */
  segmentSize?: number;
}

/** Appends what has changed to a log in segments, one batch at a time. */
export function createBatchWriter(options: BatchWriterOptions) {
  const { state, lost, segmentSize = 1024 * 1024 } = options;
  const files = createSegmentFiles(options);
  /** The next batch holds everything, because nothing in the folder is built upon. */
  let isNew = true;
  /** A batch that failed goes first; nothing more is taken before it is on disk. */
  let unwritten: readonly KeptChange[] | undefined;
  let round: Round | undefined;
  /** Bytes of everything, as last written. */
  let whole = 0;

  return {
    write: (): Promise<number> =>
      writeAll().catch(async (error: unknown) => {
        // A failed disk can be unmounted only when nothing is open on it.
        if (!isNoRoom(error)) await files.close();
        throw error;
      }),
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

  /** The slice is taken in the same step, so that a batch is true at one moment. */
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

/** Bytes of unchanged parts beside the changes: a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

/** A round writes everything once more, a slice with each batch, so that older segments can go. */
interface Round {
  began: number;
  rest: Iterator<KeptChange>;
  /** With the current batch, all of the state is on disk. */
  isTaken: boolean;
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

function createSegmentFiles({ folder, segments, create = createSegment }: BatchWriterOptions) {
  const writer = randomUUID();
  const sizes: SegmentSizes = new Map(segments);
  let current: Segment | undefined;

  return {
    get current(): Segment | undefined {
      return current;
    },
    size: (): number => sizes.values().reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
    /** Makes another current one; the one before is not closed. */
    async add(): Promise<Segment> {
      const number = 1 + Math.max(0, ...sizes.keys(), ...(await segmentsIn(folder)));
      // There may be a file even if this fails.
      sizes.set(number, undefined);
      current = await create(folder, number, writer);
      sizes.set(number, current.size);
      return current;
    },
    /** Returns the bytes of the batch. An unusable segment is no longer the current one. */
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
    async giveUp(): Promise<void> {
      for (const number of sizes.keys()) sizes.set(number, undefined);
      await closeCurrent();
    },
    /** Removes older segments, also of another agent, which then writes all of its state again. */
    async removeBefore(first: number): Promise<void> {
      for (const number of [...sizes.keys(), ...(await segmentsIn(folder))]) {
        if (number >= first) continue;
        await removeSegment(folder, number);
        sizes.delete(number);
      }
    },
  };

  async function closeCurrent(): Promise<void> {
    const before = current;
    current = undefined;
    if (before === undefined) return;
    sizes.set(before.number, undefined);
    await before.close().catch(() => undefined);
  }
}
