import { rm } from 'node:fs/promises';
import type { Millis } from '../model/log-line.ts';
import type { StateChange } from '../model/state-change.ts';
import { createSegment, encodeBatch, removeSegment, type Segment } from './segments.ts';

export interface KeptState {
  /** Another number after every change of what an Event may say. */
  revision: () => number;
  /** What has changed since the last call, in order; taken in one step between two lines. */
  takeChanges: () => StateChange[];
  /** All that there is, one `set` for each key, as it is when it is taken out of the iterator. */
  all: () => Iterator<StateChange>;
}

export interface StateLogOptions {
  folder: string;
  state: KeptState;
  /** What lies in the folder: bytes by number. */
  segments?: ReadonlyMap<number, number>;
  /** File of an older version that the state was read from: removed once all of it is in the first batch. */
  replaced?: string | undefined;
  /** `bytes`: of all that is kept. */
  onSaved: (bytes: number) => void;
  onFailed: (error: unknown) => void;
  /** How long a write may take; after that it counts as failed, as on a full disk. */
  timeout?: Millis;
  /** Bytes after which a segment is followed by another one, at least. */
  segmentSize?: number;
  create?: typeof createSegment;
}

/** State as a log of changes. Each batch holds a slice of the rest, too, so older segments can go and no write is large. */
export interface StateLog {
  /** Resolves when all changes before the call are on disk, or were too late. Calls meanwhile share a write. Never rejects. */
  keep: () => Promise<void>;
  /** The same, also when nothing was counted: for read positions. */
  keepPositions: () => Promise<void>;
  close: () => Promise<void>;
}

const noAnswer = 'the disk does not answer';

/** Bytes of what did not change that are written beside what did: a few milliseconds of the event loop. */
const sliceSize = 256 * 1024;

/** Everything written once more, a slice with each batch, so that older segments are needed no longer. */
interface Round {
  /** Number of the segment it began with. */
  began: number;
  rest: Iterator<StateChange>;
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
    async close() {
      await running;
      await writer.close();
    },
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
  /** Bytes by number, oldest first. */
  const segments = new Map(options.segments);
  let segment: Segment | undefined;
  /** What a write that failed was to write: it goes first, and nothing more is taken before it is on disk. */
  let unwritten: Buffer | undefined;
  let round: Round | undefined;
  /** Bytes of everything, when it was last written from one end to the other. */
  let whole = 0;

  return {
    /** Resolves to the revision that is on disk now. */
    async write(): Promise<number> {
      if (unwritten !== undefined) await writeBatch(await openSegment(), unwritten);
      const current = await openSegment();
      // What did not change is taken in the same step as what did: so a batch is true at one moment.
      const changes = state.takeChanges().map((change) => JSON.stringify(change));
      if (round !== undefined) changes.push(...slice(round, replaced === undefined ? sliceSize : Infinity));
      const revision = state.revision();
      if (changes.length > 0) await writeBatch(current, (unwritten = encodeBatch(changes)));
      if (replaced !== undefined) await rm(replaced, { force: true });
      replaced = undefined;
      return revision;
    },
    size: (): number => segments.values().reduce((sum, bytes) => sum + bytes, 0),
    close: async (): Promise<void> => await segment?.close(),
  };

  async function writeBatch(current: Segment, batch: Buffer): Promise<void> {
    try {
      await current.append(batch);
      unwritten = undefined;
      segments.set(current.number, (segments.get(current.number) ?? 0) + batch.length);
      if (round !== undefined) round.bytes += batch.length;
    } catch (error) {
      if (!current.usable) {
        segment = undefined;
        await current.close().catch(() => undefined);
      }
      throw error;
    }
    if (round?.ended === true) await endRound(round);
  }

  async function openSegment(): Promise<Segment> {
    const before = segment;
    const isFull = (segments.get(before?.number ?? 0) ?? 0) >= Math.max(segmentSize, 2 * whole);
    if (before !== undefined && (round !== undefined || !isFull)) return before;
    const number = 1 + Math.max(0, ...segments.keys());
    // Also when it cannot be made, its name may be taken from now on.
    segments.set(number, 0);
    segment = await create(folder, number);
    round = { began: number, rest: state.all(), ended: false, bytes: 0 };
    await before?.close();
    return segment;
  }

  async function endRound({ began, bytes }: Round): Promise<void> {
    round = undefined;
    whole = bytes;
    for (const number of [...segments.keys()].filter((each) => each < began)) {
      await removeSegment(folder, number);
      segments.delete(number);
    }
  }
}

/** The next few of what is written again. */
function slice(round: Round, size: number): string[] {
  const changes: string[] = [];
  for (let room = size; room > 0;) {
    const { value, done } = round.rest.next();
    if (done === true) {
      round.ended = true;
      break;
    }
    const change = JSON.stringify(value);
    changes.push(change);
    room -= change.length;
  }
  return changes;
}
