import { fstatSync, readSync } from 'node:fs';
import type { Millis } from '../../../base/model/log-line.ts';
import { createScanner, type ScannerOptions } from '../framing/scanner.ts';
import { type Content, type ContentListener, type OpenContent, openPackedContent } from './content.ts';
import { type FilePosition, fingerprintOf, type Place } from './relation.ts';
import { headLength, type OpenLog, ownCopy } from './open-log.ts';

export interface LogFile {
  readonly log: OpenLog;
  readonly isPacked: boolean;
  readonly reader: ReturnType<typeof createFileReader>;
  readonly content: Pick<Content, 'isBusy' | 'isWatched'>;
  readonly position: FilePosition;
  /** When it was last read, or when the next file was begun, whichever is later. */
  lastNeeded: Millis;
  /** The size in bytes, or the last known one if it cannot be read. */
  readonly size: number;
  /** The modification time when the file was last verified, in milliseconds since 1970. */
  readonly lastModified: Millis;
  /** Checks that the file still begins with the same bytes, and reads more of its beginning. */
  verify: () => void;
  /** Reads new content; if there is none, does the same as `verify`. */
  pump: () => void;
  /** Lets `pump` read again after a failure. */
  retry: () => void;
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
  /** Blocks were read, and all their lines were handed over. */
  read: (file: LogFile) => void;
  /** An empty file got its first bytes. It may have been written, copied and cut off before, which only the copy shows. */
  begun: () => void;
  /** The file was cut off, or begins with other bytes now. It is closed. `lastSize`: its size in bytes at the last check. */
  overwritten: (file: LogFile, lastSize: number) => void;
  /** The file cannot be read for now. It is not read further until `retry` is called. */
  failed: (file: LogFile, error: unknown) => void;
}

/** Reads a file from `place` on, at each `pump`. Throws the system's error. */
export function createLogFile(options: LogFileOptions): LogFile {
  const { log, isPacked, place, now, files } = options;
  const reader = createFileReader(options);
  let isClosed = false;
  let hasFailed = false;
  let size = place.offset;
  /** The size in bytes at the last successful check. For a packed file, it is known once everything was read. */
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
    lastModified: fstatSync(log.fd).mtimeMs,
    get size() {
      return (size = sizeOf(content, size));
    },
    verify: () => void holds(reader.offset),
    pump() {
      if (isClosed || hasFailed || content.isBusy) return;
      if (file.size > reader.offset) content.read(reader.offset);
      else file.verify();
    },
    retry: () => void (hasFailed = false),
    close,
  };
  return file;

  /** Returns whether the file still has at least this many bytes and the same beginning. If not, it tells the listener. */
  function holds(bytes: number): boolean {
    if (isClosed || hasFailed) return false;
    try {
      size = content.size();
      if (size >= bytes && reader.holds()) {
        lastSize = size;
        file.lastModified = fstatSync(log.fd).mtimeMs;
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

  /** The file is checked after the block was read, so the block certainly has the same content. */
  function take(block: Buffer): void {
    const isBegun = reader.head.length === 0;
    if (!holds(reader.offset + block.length)) return;
    if (isBegun) files.begun();
    reader.take(block);
    file.lastNeeded = now();
  }

  function turnEnded(): void {
    options.lines.turnEnded?.();
    if (!isClosed && !hasFailed) files.read(file);
  }

  function fail(error: unknown): void {
    if (isClosed || hasFailed) return;
    hasFailed = true;
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
    /** Reads more of the file's beginning. Returns false if it now begins with other bytes. Throws the system's error. */
    holds(): boolean {
      // A packed file never changes, and its bytes differ from its unpacked content.
      if (isPacked) return true;
      const count = readSync(log.fd, probe, 0, headLength, 0);
      if (count < head.length || head.compare(probe, 0, head.length) !== 0) return false;
      if (count > head.length) {
        head = ownCopy(probe.subarray(0, count));
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
