import { createReadStream, existsSync, fstatSync, open, read, readSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import { Tail } from 'tail';
import type { Millis } from '../../../base/model/log-line.ts';
import { processorTime } from '../../../base/platform/clock.ts';
import { headLength, type OpenLog, ownCopy } from './open-log.ts';

/** Hands over the content of an open file, block by block, and notices changes. */
export interface Content {
  /** Whether changes are reported. If not, the file must be checked often. */
  readonly isWatched: boolean;
  readonly isBusy: boolean;
  /** Returns the number of bytes that can be read, as far as is known. Throws the system's error. */
  size: () => number;
  /** Asks for the bytes from `from` on, or some of them. Calls `block`, perhaps several times, or `failed`, or nothing. */
  read: (from: number) => void;
  /** Ends all calls of the listener. The file itself stays open. */
  close: () => void;
}

export interface ContentListener {
  /** The block is valid only during the call. */
  block: (block: Buffer) => void;
  /** Called after the last block in one turn of the event loop. */
  turnEnded: () => void;
  failed: (error: unknown) => void;
  changed: () => void;
  /** The file may have been renamed or deleted. */
  moved: () => void;
}

/** Throws the system's error. */
export type OpenContent = (log: OpenLog, listener: ContentListener) => Content;

/** All files share this buffer, because each block is used up before the next one is read. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The processor time after which other work gets its turn. */
const longestTurn: Millis = 4;
/** Lines of packets take much longer than others: of a file with many of them, less is read at once. */
const smallestPiece = 4 * 1024;

/** Reads an open descriptor, so that renaming does not matter. The package `tail` only watches the file. */
class PinnedTail extends Tail implements Content {
  // Only declared: an initializer would run after the constructor of Tail, which calls methods below, and overwrite what they have set.
  declare private readonly listener: ContentListener | undefined;
  declare private readonly fd: number;
  /** How many bytes are read at once. */
  declare private piece: number;
  declare private isReading: boolean;
  declare private isClosed: boolean;
  declare private isOpen: boolean;

  constructor({ fd }: OpenLog, listener: ContentListener) {
    super(`/proc/self/fd/${fd}`, { separator: null, fromBeginning: true, follow: false });
    this.fd = fd;
    this.listener = listener;
    this.piece = smallestPiece;
    this.isReading = false;
    this.isClosed = false;
    this.isOpen = true;
    this.on('error', (error: unknown) => {
      if (!this.isClosed) listener.failed(error);
    });
    this.observe();
  }

  get isWatched(): boolean {
    return this.watcher !== undefined;
  }

  get isBusy(): boolean {
    return this.isReading;
  }

  size(): number {
    return fstatSync(this.fd).size;
  }

  /** Reads without a thread, because the page cache usually has the data. */
  read(from: number): void {
    if (this.isClosed || this.isReading) return;
    this.isReading = true;
    try {
      this.readTurn(from);
    } finally {
      this.isReading = false;
    }
  }

  close(): void {
    this.isClosed = true;
    this.unwatch();
  }

  protected override change(): void {
    if (this.isOpen && !this.isClosed) this.listener?.changed();
  }

  protected override rename(): void {
    if (this.isOpen && !this.isClosed) this.listener?.moved();
  }

  protected override watch(): void {
    // The constructor of Tail calls this too early, so `observe` begins to watch later.
  }

  private readTurn(from: number): void {
    const end = processorTime() + longestTurn;
    let [at, now] = [from, end - longestTurn];
    for (let isDone = false; !isDone;) {
      const [began, { piece }] = [now, this];
      const count = this.readBlock(at);
      if (count === 0) break;
      at += count;
      this.listener?.block(buffer.subarray(0, count));
      now = processorTime();
      this.piece =
        now - began > longestTurn / 4 ? Math.max(piece / 2, smallestPiece) : Math.min(piece * 2, buffer.length);
      isDone = count < piece || this.isClosed || now >= end;
    }
    if (at > from) this.listener?.turnEnded();
  }

  private readBlock(from: number): number {
    try {
      return readSync(this.fd, buffer, 0, this.piece, from);
    } catch (error) {
      this.listener?.failed(error);
      return 0;
    }
  }

  /** If the kernel has no watch left (fs.inotify.max_user_watches), the file is checked often instead. */
  private observe(): void {
    try {
      super.watch(0, false);
      this.watcher?.on('error', () => this.forgetWatcher());
    } catch {
      this.forgetWatcher();
    }
  }

  private forgetWatcher(): void {
    this.watcher?.close();
    this.watcher = undefined;
  }
}

export const openPinnedTail: OpenContent = (log, listener) => {
  try {
    return new PinnedTail(log, listener);
  } catch (error) {
    if (!existsSync('/proc/self/fd')) throw new Error('/proc is not mounted here', { cause: error });
    throw error;
  }
};

/** The owner of the descriptor closes it. A destroyed stream would close it, too, even with `autoClose: false`. */
const borrowed = { open, read, close: (_: number, done: () => void): void => done() };

/** Reads a packed file (gzip) in one go. Offsets count unpacked bytes. A file is packed only once, so it never changes. */
export const openPackedContent: OpenContent = ({ fd }, listener) => {
  const closing = new AbortController();
  const { signal } = closing;
  let isBusy = false;
  let size = Infinity;

  return {
    isWatched: true,
    get isBusy() {
      return isBusy;
    },
    size: () => size,
    read(from) {
      if (isBusy) return;
      isBusy = true;
      void unpack(from).then(
        () => !signal.aborted && listener.changed(),
        (error: unknown) => !signal.aborted && listener.failed(error),
      );
    },
    close: () => closing.abort(),
  };

  function deliver(block: Buffer): void {
    try {
      listener.block(block);
      listener.turnEnded();
    } catch (error) {
      // A defect behind the listener must not look like a file that cannot be read.
      process.nextTick(() => {
        throw error;
      });
    }
  }

  async function unpack(from: number): Promise<void> {
    let at = 0;
    try {
      const packed = createReadStream('', { fd, start: 0, autoClose: false, fs: borrowed });
      const take = async (blocks: AsyncIterable<Buffer>): Promise<void> => {
        for await (const block of blocks) {
          const unread = block.subarray(Math.max(0, Math.min(block.length, from - at)));
          at += block.length;
          if (unread.length > 0) deliver(unread);
        }
        size = at;
      };
      await pipeline(packed, createGunzip(), take, { signal });
    } finally {
      isBusy = false;
    }
  }
};

/** A gzip file is longer than its header and trailer (RFC 1952). */
const shortestGzip = 18;

/** Returns the first unpacked bytes; undefined if the file is not gzip, or not enough of it is written yet. */
export function unpackedHead(fd: number): Buffer | undefined {
  const packed = Buffer.alloc(4 * headLength);
  try {
    const start = packed.subarray(0, readSync(fd, packed, 0, packed.length, 0));
    if (start.length < shortestGzip) return undefined;
    return ownCopy(gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, headLength));
  } catch {
    return undefined;
  }
}
