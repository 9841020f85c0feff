import type { Millis } from '../../model/log-line.ts';
import type { Content, OpenContent } from './content.ts';
import { createFileReader, type FileReader, type FileReaderOptions } from './file-reader.ts';
import type { OpenLog } from './open-log.ts';
import { openPackedContent } from './packed-content.ts';

/** One file of a log, from when it is seen until it is let go. */
export interface LogFile {
  readonly log: OpenLog;
  readonly isPacked: boolean;
  readonly reader: FileReader;
  /** Reading was asked for. */
  readonly isBusy: boolean;
  /** Changes are told as they happen. */
  readonly isWatched: boolean;
  /** When something was last read. */
  readonly lastNews: Millis;
  /** Bytes, as far as known; what it was at the last look if it cannot be found out. */
  readonly size: number;
  /** Looks whether the file goes on as it began, and takes in more of its beginning. */
  verify: () => void;
  /** Bytes when it was last seen to go on as it began. */
  readonly lastSize: number;
  /** Reads one block, if there is one. */
  pump: () => void;
  /** Stops reading; the file stays open. */
  close: () => void;
}

export interface LogFileOptions extends FileReaderOptions {
  openContent: OpenContent;
  now: () => Millis;
  onRead: () => void;
  /** There may be more to read. */
  onChange: () => void;
  onMoved: () => void;
  /** The file was cut off, or does not hold any more what it held; `lastSize`: bytes it had at the last look. It is closed. */
  onOverwritten: (file: LogFile, lastSize: number) => void;
  /** It can be read no further for now. It is closed. */
  onError: (file: LogFile, error: unknown) => void;
}

/** Throws the system's error. */
export function createLogFile(options: LogFileOptions): LogFile {
  const { log, isPacked, place, now } = options;
  const reader = createFileReader(options);
  let isClosed = false;
  let lastNews = now();
  let size = place.offset;
  /** Bytes it had when it was last seen to go on as it began. */
  let trusted = place.offset;
  const content: Content = (isPacked ? openPackedContent : options.openContent)(log, {
    onBlock: take,
    onError: fail,
    onChange: options.onChange,
    onMoved: options.onMoved,
  });

  const file: LogFile = {
    log,
    isPacked,
    reader,
    get isBusy() {
      return content.isBusy;
    },
    get isWatched() {
      return content.isWatched;
    },
    get lastNews() {
      return lastNews;
    },
    get size() {
      try {
        size = content.size();
      } catch {
        // Then it is as it was.
      }
      return size;
    },
    get lastSize() {
      return trusted;
    },
    verify,
    pump() {
      if (isClosed || content.isBusy) return;
      if (file.size <= reader.offset) return verify();
      content.read(reader.offset);
    },
    close,
  };
  return file;

  function verify(): void {
    isStillOfIt(reader.offset);
  }

  /** Whether these bytes, or more, are still there, and those at the beginning are the same. If not, somebody has been told. */
  function isStillOfIt(bytes: number): boolean {
    if (isClosed) return false;
    try {
      size = content.size();
      if ((isPacked || size >= bytes) && reader.holds()) {
        trusted = size;
        return true;
      }
    } catch (error) {
      fail(error);
      return false;
    }
    close();
    options.onOverwritten(file, trusted);
    return false;
  }

  function take(block: Buffer): void {
    if (!isStillOfIt(reader.offset + block.length)) return;
    reader.take(block);
    lastNews = now();
    if (!isClosed) options.onRead();
  }

  function fail(error: unknown): void {
    if (isClosed) return;
    close();
    options.onError(file, error);
  }

  function close(): void {
    isClosed = true;
    content.close();
  }
}
