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
  textOfChange,
} from './segments.ts';

export interface KeptState {
  /** Returns a number that grows with each change of counts, waiting flows, incidents, budget, audit or Pods. */
  revision: () => number;
  /** Returns the changes since the last call in order. They are taken between two lines of a log. */
  takeChanges: () => KeptChange[];
  /** Returns everything, with one `set` for each key. Each value is copied when it is read. */
  all: () => IterableIterator<KeptChange>;
}

export interface BatchWriterOptions {
  folder: string;
  /** The segments in the folder. They are removed once the first batch has the whole state. */
  segments?: Readonly<SegmentSizes>;
  create?: typeof createSegment;
  state: KeptState;
  lost: (reason: string) => void;
  /** How many bytes a segment has before the next one begins, but at least twice the whole state. Default: 1 MiB. */
  segmentSize?: number;
}

export interface BatchWriter {
  /** Writes all changes, and returns the revision that is then on disk. Rejects if the disk fails. */
  write: () => Promise<number>;
  readonly size: () => number;
}

/** Appends changes to a log in segments, one batch at a time. */
export function createBatchWriter(options: BatchWriterOptions): BatchWriter {
  const { state, lost, segmentSize = 1024 * 1024 } = options;
  const files = createSegmentFiles(options);
  /** The next batch must contain everything, because it cannot build on the segments in the folder. */
  let isNew = true;
  /** A batch that failed. It is written again before further changes are taken. */
  let unwritten: readonly KeptChange[] | undefined;
  let round: Round | undefined;
  /** The size in bytes of the whole state, when it was last written. */
  let whole = 0;

  return {
    write: (): Promise<number> =>
      writeAll().catch(async (error: unknown) => {
        // A failed disk can be unmounted only if no file on it is open.
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

  /** Takes the changes and the slice in one step, so that a batch shows the state at one moment. */
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
    round = { began: segment.number, remaining: state.all(), isTaken: false, bytes: 0 };
    await before?.close();
    return segment;
  }
}

/** How many characters of unchanged parts follow the changes of a batch. They take a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

/** A round writes the whole state once more, with a slice in each batch, so that older segments can be removed. */
interface Round {
  began: number;
  remaining: Iterator<KeptChange>;
  /** Whether the whole state is on disk after the current batch. */
  isTaken: boolean;
  bytes: number;
}

function nextSlice(round: Round): string[] {
  const changes: string[] = [];
  for (let room = sliceSize; room > 0;) {
    const { value, done } = round.remaining.next();
    if (done === true) {
      round.isTaken = true;
      break;
    }
    const change = textOfChange(value);
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
    /** Adds a segment and makes it current. It does not close the one before. */
    async add(): Promise<Segment> {
      const number = 1 + Math.max(0, ...sizes.keys(), ...(await segmentsIn(folder)));
      // There may be a file even if this fails.
      sizes.set(number, undefined);
      current = await create(folder, number, writer);
      sizes.set(number, current.size);
      return current;
    },
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
    /** Removes older segments. They may belong to another agent, which then writes its whole state again. */
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
