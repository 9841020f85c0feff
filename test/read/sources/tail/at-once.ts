import { fstatSync, readSync } from 'node:fs';
import type { Content, ContentListener, OpenContent } from '../../../../src/read/sources/tail/content.ts';
import type { OpenLog } from '../../../../src/read/sources/tail/open-log.ts';
import type { Schedule } from '../../../../src/base/platform/timer.ts';

/** Reads as soon as it is asked to, and notices nothing by itself, so a test only has to let time pass. */
export const openAtOnce: OpenContent = (log, listener) => open(log, listener, {});

export interface Contents {
  open: OpenContent;
  /** Reports a change to all listeners, as the kernel would; `isMoved`: including renames. */
  notify: (isMoved: boolean) => void;
}

export interface ContentsOptions {
  /** How many bytes are read at a time. */
  blockSize?: number;
  /**
   * False: they have to be looked at often. True while `notify` is never called: as if the kernel's queue had overrun.
   */
  isWatched?: boolean;
  /** Delays each block for some time after it was requested. */
  schedule?: Schedule;
}

/** Contents whose changes the test reports. */
export function createContents(options: ContentsOptions): Contents {
  const listeners = new Set<ContentListener>();
  return {
    open(log, listener) {
      listeners.add(listener);
      return open(log, listener, { ...options, onClose: () => void listeners.delete(listener) });
    },
    notify(isMoved) {
      for (const listener of listeners) {
        listener.changed();
        if (isMoved) listener.moved();
      }
    },
  };
}

const usualBlock = 256 * 1024;

interface Options extends ContentsOptions {
  onClose?: () => void;
}

function open({ fd }: OpenLog, listener: ContentListener, options: Options): Content {
  const { blockSize = usualBlock, isWatched = false, schedule, onClose } = options;
  let isClosed = false;
  let cancel: (() => void) | undefined;
  const block = Buffer.allocUnsafeSlow(blockSize);
  return {
    isWatched,
    get isBusy() {
      return cancel !== undefined;
    },
    size: () => fstatSync(fd).size,
    read(from) {
      if (schedule === undefined) return readBlock(from);
      cancel = schedule(() => {
        cancel = undefined;
        readBlock(from);
      }, 0);
    },
    close() {
      isClosed = true;
      onClose?.();
      cancel?.();
      cancel = undefined;
    },
  };

  function readBlock(from: number): void {
    let count: number;
    try {
      count = readSync(fd, block, 0, block.length, from);
    } catch (error) {
      return listener.failed(error);
    }
    if (count === 0 || isClosed) return;
    listener.block(block.subarray(0, count));
    listener.turnEnded();
  }
}
