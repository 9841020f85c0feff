import { rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import type { Millis } from '../model/log-line.ts';
import {
  createSegment,
  encodeBatch,
  type KeptChange,
  lossIn,
  removeSegment,
  type Segment,
  segmentsIn,
  type SegmentSizes,
  textOf,
} from './segments.ts';

export interface KeptState {
  /** Another number after every change of what an Event may say. */
  revision: () => number;
  /** What has changed since the last call, in order; taken in one step between two lines. */
  takeChanges: () => KeptChange[];
  /** All that there is, one `set` for each key, as it is when it is taken out of the iterator. */
  all: () => IterableIterator<KeptChange>;
}

export interface StateLogOptions {
  folder: string;
  state: KeptState;
  /** What lies in the folder: removed once all of the state is in the first batch. */
  segments?: Readonly<SegmentSizes>;
  /** File of an older version that the state was read from: removed then, too. */
  replaced?: string | undefined;
  /** `bytes`: of all that is kept. */
  onSaved: (bytes: number) => void;
  onFailed: (error: unknown) => void;
  /** What was written is no longer there, for the reason given; all of it is written again. */
  onLost: (reason: string) => void;
  /** How long a write may take; after that it counts as failed, as on a full disk. */
  timeout?: Millis;
  /** Bytes after which a segment is followed by another one, at least. */
  segmentSize?: number;
  create?: typeof createSegment;
}

/** State as a log of changes. Each batch holds a slice of the rest, too, so older segments can go. */
export interface StateLog {
  /** Resolves when all changes before the call are on disk, or were too late. Calls meanwhile share a write. Never rejects. */
  keep: () => Promise<void>;
  /** The same, also when nothing was counted: for read positions. */
  keepPositions: () => Promise<void>;
}

const noAnswer = 'the disk does not answer';

/** Bytes of what did not change that are written beside what did: a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

/** Everything written once more, a slice with each batch, so that older segments are needed no longer. */
interface Round {
  /** Number of the segment it began with. */
  began: number;
  rest: Iterator<KeptChange>;
  ended: boolean;
  bytes: number;
}

export function createStateLog(options: StateLogOptions): StateLog {
  const { timeout = 10_000 } = options;
  const writer = createWriter(options);
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  /** A batch was not answered in time: until it ends it holds one of the four threads for file access, so no other begins. */
  let hanging = false;
  let kept: number | undefined;

  return {
    keep: () => (kept === options.state.revision() && running === undefined ? Promise.resolve() : save()),
    keepPositions: save,
  };

  function save(): Promise<void> {
    if (running === undefined) return begin();
    // The batch under way was taken before this call.
    return (next ??= running.then(begin));
  }

  function begin(): Promise<void> {
    next = undefined;
    return (running = run());
  }

  async function run(): Promise<void> {
    if (hanging) options.onFailed(new Error(noAnswer));
    else await writeInTime();
    if (next === undefined) running = undefined;
  }

  async function writeInTime(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      hanging = true;
      options.onFailed(new Error(noAnswer));
      resolve();
    }, timeout);
    void writeOnce().finally(() => {
      clearTimeout(timer);
      hanging = false;
      resolve();
    });
    await promise;
  }

  async function writeOnce(): Promise<void> {
    try {
      kept = await writer.write();
      options.onSaved(writer.size());
    } catch (error) {
      options.onFailed(error);
    }
  }
}

function createWriter(options: StateLogOptions) {
  const { folder, state, create = createSegment } = options;
  const { segmentSize = 1024 * 1024 } = options;
  let { replaced } = options;
  const writer = randomUUID();
  const segments: SegmentSizes = new Map(options.segments);
  let segment: Segment | undefined;
  /** Whether what lies in the folder is not to be built upon: the next batch holds everything. */
  let isNew = true;
  /** What a write that failed was to write: it goes first, and nothing more is taken before it is on disk. */
  let unwritten: readonly KeptChange[] | undefined;
  let round: Round | undefined;
  /** Bytes of everything, when it was last written from one end to the other. */
  let whole = 0;

  return {
    /** Resolves to the revision that is on disk now. */
    async write(): Promise<number> {
      if (unwritten !== undefined) await writeBatch(await openSegment(), unwritten);
      const revision = await writeChanges();
      const loss = await lossIn(folder, segments);
      if (loss === undefined) return revision;
      options.onLost(loss);
      for (const number of segments.keys()) segments.set(number, undefined);
      isNew = true;
      await closeSegment();
      return await writeChanges();
    },
    size: (): number => segments.values().reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
  };

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
    if (!isNew) return [...changes, ...slice(round)];
    isNew = false;
    round.ended = true;
    return [['clear'], ...state.all()];
  }

  async function writeBatch(current: Segment, batch: readonly KeptChange[]): Promise<void> {
    const before = current.size;
    try {
      await current.append(encodeBatch(batch));
      unwritten = undefined;
      segments.set(current.number, current.size);
      if (round !== undefined) round.bytes += current.size - before;
    } catch (error) {
      if (!current.usable) await closeSegment();
      throw error;
    }
    if (round?.ended === true) await endRound(round);
  }

  /** What may stand at its end is not known. */
  async function closeSegment(): Promise<void> {
    const before = segment;
    segment = undefined;
    if (before === undefined) return;
    segments.set(before.number, undefined);
    await before.close().catch(() => undefined);
  }

  async function openSegment(): Promise<Segment> {
    const before = segment;
    const isFull = before !== undefined && before.size >= Math.max(segmentSize, 2 * whole);
    if (before !== undefined && (round !== undefined || !isFull)) return before;
    const number = 1 + Math.max(0, ...segments.keys(), ...(await segmentsIn(folder)));
    // Also when it cannot be made, there may be a file.
    segments.set(number, undefined);
    segment = await create(folder, number, writer);
    segments.set(number, segment.size);
    round = { began: number, rest: state.all(), ended: false, bytes: 0 };
    await before?.close();
    return segment;
  }

  async function endRound({ began, bytes }: Round): Promise<void> {
    round = undefined;
    whole = bytes;
    // Also those of another agent, which then writes all of its state again.
    for (const number of [...segments.keys(), ...(await segmentsIn(folder))]) {
      if (number >= began) continue;
      await removeSegment(folder, number);
      segments.delete(number);
    }
  }
}

/** The next few of what is written again. */
function slice(round: Round): string[] {
  const changes: string[] = [];
  for (let room = sliceSize; room > 0;) {
    const { value, done } = round.rest.next();
    if (done === true) {
      round.ended = true;
      break;
    }
    const change = textOf(value);
    changes.push(change);
    room -= change.length;
  }
  return changes;
}
