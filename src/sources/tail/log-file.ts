import { fstatSync, readSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import { createScanner, type ScannerOptions } from '../framing/scanner.ts';
import { type Content, type ContentListener, type OpenContent, openPackedContent } from './content.ts';
import type { FilePosition, Place } from './file-position.ts';
import { headLength, type OpenLog } from './open-log.ts';
import { fingerprintOf } from './relation.ts';

export interface LogFile {
  readonly log: OpenLog;
  readonly isPacked: boolean;
  readonly reader: ReturnType<typeof createFileReader>;
  readonly content: Pick<Content, 'isBusy' | 'isWatched'>;
  readonly position: FilePosition;
  /** When something was last read of it, or the next file was begun if that was later. */
  readonly lastNeeded: Millis;
  /** Bytes, as far as known; if they cannot be found out, those of the last look. */
  readonly size: number;
  /** When it had last been written to when it was last seen to go on as it began, in milliseconds since 1970. */
  readonly lastModified: Millis;
  /** Looks whether the file goes on as it began, and takes in more of its beginning. */
  verify: () => void;
  pump: () => void;
  /** The next file is begun, though this one may still be written to. */
  pass: () => void;
  close: () => void;
}

export interface LogFileOptions extends Omit<ScannerOptions, 'skipping'> {
  log: OpenLog;
  isPacked: boolean;
  place: Place;
  head: Buffer;
  openContent: OpenContent;
  now: () => Millis;
  files: LogFileListener;
}

export interface LogFileListener extends Pick<ContentListener, 'changed' | 'moved'> {
  /** Blocks were read, and all that they brought was handed over. */
  read: (file: LogFile) => void;
  /** The first bytes came to a file that had none. It may have been written, copied and cut off before: only the copy shows that. */
  begun: () => void;
  /** The file was cut off, or begins otherwise by now; `lastSize`: bytes that it had at the last look. It is closed. */
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
  /** Bytes when it was last seen to go on as it began. That of a packed file is known once all of it was read. */
  let lastSize = place.offset;
  const open = isPacked ? openPackedContent : options.openContent;
  const content = open(log, { block: take, turnEnded, failed: fail, changed: files.changed, moved: files.moved });

  const file = {
    log,
    isPacked,
    reader,
    content,
    get position(): FilePosition {
      return { ...reader.position, size: Number.isFinite(lastSize) ? lastSize : null };
    },
    lastNeeded: now(),
    lastModified: modifiedAt(log, 0),
    get size() {
      return (size = sizeOf(content, size));
    },
    verify: () => void holds(reader.offset),
    pump() {
      if (isClosed || content.isBusy) return;
      if (file.size > reader.offset) content.read(reader.offset);
      else file.verify();
    },
    pass() {
      file.lastNeeded = now();
    },
    close,
  };
  return file;

  /** Whether these bytes, or more, are still there, and the first ones are the same. If not, the listener knows. */
  function holds(bytes: number): boolean {
    if (isClosed) return false;
    try {
      size = content.size();
      if (size >= bytes && reader.holds()) {
        lastSize = size;
        file.lastModified = modifiedAt(log, file.lastModified);
        return true;
      }
    } catch (error) {
      fail(error);
      return false;
    }
    close();
    files.overwritten(file, lastSize);
    return false;
  }

  /** The file is looked at after the block was read, so that the block is known to be of the same content. */
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

const probe = Buffer.allocUnsafeSlow(headLength);

function createFileReader({ log, isPacked, place: start, needles, lines, ...known }: LogFileOptions) {
  const scanner = createScanner({ needles, lines, skipping: start.skipping });
  let { offset } = start;
  let { head } = known;
  let fingerprint: ReturnType<typeof fingerprintOf> | undefined;

  const reader = {
    counts: scanner.counts,
    get offset() {
      return offset;
    },
    get head() {
      return head;
    },
    get place(): Place {
      return { offset: start.offset + scanner.counts.bytes - scanner.held, skipping: scanner.skipping };
    },
    get position(): Omit<FilePosition, 'size'> {
      fingerprint ??= fingerprintOf(head);
      return { ...log.identity, ...reader.place, ...fingerprint };
    },
    take(block: Buffer): void {
      offset += block.length;
      scanner.write(block);
    },
    /** Takes in what was added to the first bytes. False if the file begins otherwise by now. Throws the system's error. */
    holds(): boolean {
      // A packed file does not change, and its own bytes are not those of its content.
      if (isPacked) return true;
      const count = readSync(log.fd, probe, 0, headLength, 0);
      if (count < head.length || head.compare(probe, 0, head.length) !== 0) return false;
      if (count > head.length) {
        head = Buffer.from(probe.subarray(0, count));
        fingerprint = undefined;
      }
      return true;
    },
    end: () => scanner.end(),
  };
  return reader;
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
