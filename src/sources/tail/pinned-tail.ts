import { fstatSync } from 'node:fs';
import { Tail } from 'tail';
import type { Content, ContentListener } from './content.ts';
import type { OpenLog } from './open-log.ts';

/** Asked for at a time. It comes in pieces of 64 KiB, between which other work has its turn. */
const blockSize = 4 * 1024 * 1024;

/** Reads through the descriptor (/proc/self/fd/N), so renaming does not matter; `tail` would lose lines (docs/decisions.md). */
class PinnedTail extends Tail implements Content {
  // Set after the constructor of Tail, which calls methods below already.
  declare private readonly listener: ContentListener | undefined;
  declare private readonly fd: number;
  declare private handedOver: number;
  declare private isClosed: boolean;
  declare private isOpen: boolean;

  constructor({ fd }: OpenLog, listener: ContentListener) {
    super(`/proc/self/fd/${fd}`, { separator: null, fromBeginning: true, follow: false });
    // Blocks come as bytes then.
    this.encoding = undefined;
    this.fd = fd;
    this.listener = listener;
    this.handedOver = this.currentCursorPos = 0;
    this.isClosed = false;
    this.isOpen = true;
    this.on('line', (block: Buffer) => this.handOver(block));
    this.on('error', (error: unknown) => {
      if (!this.isClosed) listener.onError(error);
    });
    this.observe();
  }

  get isWatched(): boolean {
    return this.watcher !== undefined;
  }

  get isBusy(): boolean {
    return this.queue.length > 0 && this.handedOver < this.currentCursorPos;
  }

  size(): number {
    return fstatSync(this.fd).size;
  }

  read(from: number): void {
    if (this.isClosed || this.isBusy) return;
    // The last block may have ended early: the file was cut off meanwhile.
    this.handedOver = this.currentCursorPos = from;
    super.change();
  }

  close(): void {
    this.isClosed = true;
    this.unwatch();
  }

  protected override change(): void {
    if (this.isOpen && !this.isClosed) this.listener?.onChange();
  }

  protected override rename(): void {
    if (this.isOpen && !this.isClosed) this.listener?.onMoved();
  }

  protected override watch(): void {
    // Begun by `observe`, once this object is complete.
  }

  protected override latestPosition(): number {
    return Math.min(this.size(), this.currentCursorPos + blockSize);
  }

  /** Without more of the kernel's watches (fs.inotify.max_user_watches) the file is looked at by whoever reads it. */
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

  private handOver(block: Buffer): void {
    if (this.isClosed) return;
    this.handedOver += block.length;
    this.listener?.onBlock(block);
  }
}

/** Throws the system's error. */
export function openPinnedTail(log: OpenLog, listener: ContentListener): Content {
  return new PinnedTail(log, listener);
}
