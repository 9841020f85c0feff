import { fstatSync, readSync } from 'node:fs';
import { Tail } from 'tail';
import type { Millis } from '../../model/log-line.ts';
import type { Content, ContentListener } from './content.ts';
import type { OpenLog } from './open-log.ts';

/** One for all: a block is done with before the next one is read. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The time of one turn; then other work has its turn. */
const longestTurn: Millis = 4;

/** Reads a descriptor, so renaming does not matter; what is used of `tail` is that it watches the file (docs/decisions.md). */
class PinnedTail extends Tail implements Content {
  // Set after the constructor of Tail, which calls methods below already.
  declare private readonly listener: ContentListener | undefined;
  declare private readonly fd: number;
  declare private isReading: boolean;
  declare private isClosed: boolean;
  declare private isOpen: boolean;

  constructor({ fd }: OpenLog, listener: ContentListener) {
    super(`/proc/self/fd/${fd}`, { separator: null, fromBeginning: true, follow: false });
    this.fd = fd;
    this.listener = listener;
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

  /** Reads without a thread, because the page cache answers sooner; a turn is as short as that of other work. */
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
    // Begun by `observe`, once this object is complete.
  }

  private readTurn(from: number): void {
    const began = processorTime();
    let at = from;
    for (let isDone = false; !isDone;) {
      const count = this.readBlock(at);
      if (count === 0) break;
      at += count;
      this.listener?.block(buffer.subarray(0, count));
      isDone = count < buffer.length || this.isClosed || processorTime() - began >= longestTurn;
    }
    if (at > from) this.listener?.turnEnded();
  }

  /** 0 at the end of the file, and when it cannot be read, which the listener knows then. */
  private readBlock(from: number): number {
    try {
      return readSync(this.fd, buffer, 0, buffer.length, from);
    } catch (error) {
      this.listener?.failed(error);
      return 0;
    }
  }

  /** The reader looks at the file itself if the kernel has no watch left (fs.inotify.max_user_watches). */
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

/** The processor time of this thread: it reads nothing while it waits for a processor. */
function processorTime(): Millis {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Throws the system's error. */
export function openPinnedTail(log: OpenLog, listener: ContentListener): Content {
  return new PinnedTail(log, listener);
}
