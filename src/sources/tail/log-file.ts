import { fstatSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import type { Content, ContentListener, OpenContent } from './content.ts';
import { createFileReader, type FileReader, type FileReaderOptions } from './file-reader.ts';
import type { OpenLog } from './open-log.ts';
import { openPackedContent } from './packed-content.ts';

export interface LogFile {
  readonly log: OpenLog;
  readonly isPacked: boolean;
  readonly reader: FileReader;
  readonly content: Pick<Content, 'isBusy' | 'isWatched'>;
  /** When something was last read of it, or the next one was begun if that was later. */
  readonly lastNeeded: Millis;
  /** Bytes, as far as known; what it was at the last look if it cannot be found out. */
  readonly size: number;
  /** Bytes when it was last seen to go on as it began. */
  readonly lastSize: number;
  /** When it had last been written to at that time, in milliseconds since 1970. */
  readonly lastModified: Millis;
  /** Looks whether the file goes on as it began, and takes in more of its beginning. */
  verify: () => void;
  pump: () => void;
  /** The next one is begun, though this one may still be written to. */
  pass: () => void;
  /** Stops reading; the file stays open. */
  close: () => void;
}

export interface LogFileOptions extends FileReaderOptions {
  openContent: OpenContent;
  now: () => Millis;
  files: LogFileListener;
}

/** Is told what happens to a file. */
export interface LogFileListener extends Pick<ContentListener, 'changed' | 'moved'> {
  /** Blocks were read, and all that they brought was handed over. */
  read: (file: LogFile) => void;
  /** The first bytes came to a file that had none. */
  begun: () => void;
  /** The file was cut off, or does not hold any more what it held; `lastSize`: bytes it had at the last look. It is closed. */
  overwritten: (file: LogFile, lastSize: number) => void;
  /** It can be read no further for now. It is closed. */
  failed: (file: LogFile, error: unknown) => void;
}

/** Throws the system's error. */
export function createLogFile(options: LogFileOptions): LogFile {
  const { log, isPacked, place, now, files } = options;
  const reader = createFileReader(options);
  let isClosed = false;
  let size = place.offset;
  const open = isPacked ? openPackedContent : options.openContent;
  const content = open(log, { block: take, turnEnded, failed: fail, changed: files.changed, moved: files.moved });

  const file = {
    log,
    isPacked,
    reader,
    content,
    lastNeeded: now(),
    lastSize: place.offset,
    lastModified: modifiedAt(log, 0),
    get size() {
      return (size = sizeOf(content, size));
    },
    verify,
    pump() {
      if (isClosed || content.isBusy) return;
      if (file.size <= reader.offset) return verify();
      content.read(reader.offset);
    },
    pass() {
      file.lastNeeded = now();
    },
    close,
  };
  return file;

  function verify(): void {
    holds(reader.offset);
  }

  /** Whether these bytes, or more, are still there, and those at the beginning are the same. If not, the listener knows. */
  function holds(bytes: number): boolean {
    if (isClosed) return false;
    try {
      size = content.size();
      if (size >= bytes && reader.holds()) {
        file.lastSize = size;
        file.lastModified = modifiedAt(log, file.lastModified);
        return true;
      }
    } catch (error) {
      fail(error);
      return false;
    }
    close();
    files.overwritten(file, file.lastSize);
    return false;
  }

  function take(block: Buffer): void {
    const isBegun = reader.head.length === 0;
    if (!holds(reader.offset + block.length)) return;
    if (isBegun) files.begun();
    reader.take(block);
    file.lastNeeded = now();
  }

  function turnEnded(): void {
    options.lines.turnEnded?.();
    if (!isClosed) files.read(file);
  }

  function fail(error: unknown): void {
    if (isClosed) return;
    close();
    files.failed(file, error);
  }

  function close(): void {
    isClosed = true;
    content.close();
  }
}

function sizeOf(content: Content, otherwise: number): number {
  try {
    return content.size();
  } catch {
    return otherwise;
  }
}

function modifiedAt({ fd }: OpenLog, otherwise: Millis): Millis {
  try {
    return fstatSync(fd).mtimeMs;
  } catch {
    return otherwise;
  }
}
