import { fstatSync, readSync } from 'node:fs';
import type { FilePosition, Place } from './file-position.ts';
import { createFingerprint } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';
import { createScanner, type ScanCounts, type ScannerOptions } from './scanner.ts';

/**
 * What a step came to. `end`: all that is there has been read. `overwritten`: the file does not continue what was read of it,
 * nothing was taken. With `error`, of the system, nothing was taken either.
 */
export type Step = 'more' | 'end' | 'overwritten' | { error: unknown };

/** Reads one file from a place on, block by block. */
export interface FileReader {
  readonly log: OpenLog;
  /** After the last line that was handed over. */
  readonly position: FilePosition;
  readonly counts: Readonly<ScanCounts>;
  /** Bytes read and not read, of those that were there at the last step. */
  readonly offset: number;
  readonly unread: number;
  /** Reads at most one block. */
  step: () => Step;
  /** Takes an unfinished last line as a line. */
  end: () => void;
}

export interface FileReaderOptions extends Omit<ScannerOptions, 'skipping'> {
  log: OpenLog;
  place: Place;
  /** The first bytes of the file, as far as known. */
  head?: Buffer;
  /** Space for one block, used during `step` only. */
  block: Buffer;
}

export function createFileReader({ log, place, head, block, ...scanning }: FileReaderOptions): FileReader {
  const { fd, identity } = log;
  const fingerprint = createFingerprint(fd, head);
  const scanner = createScanner({ ...scanning, skipping: place.skipping });
  let offset = place.offset;
  let unread = 0;

  return {
    log,
    counts: scanner.counts,
    get position() {
      return {
        ...identity,
        offset: place.offset + scanner.counts.bytes - scanner.held,
        head: fingerprint.digest,
        headLength: fingerprint.length,
        skipping: scanner.skipping,
      };
    },
    get offset() {
      return offset;
    },
    get unread() {
      return unread;
    },
    step() {
      let size: number;
      let count: number;
      try {
        ({ size } = fstatSync(fd));
        if (size < offset) return 'overwritten';
        count = size > offset ? readSync(fd, block, 0, block.length, offset) : 0;
        // After the block, so that it is known to be of the same content as those before it.
        if (size > 0 && !fingerprint.holds()) return 'overwritten';
      } catch (error) {
        return { error };
      }
      offset += count;
      unread = Math.max(0, size - offset);
      if (count > 0) scanner.write(block.subarray(0, count));
      return unread > 0 && count > 0 ? 'more' : 'end';
    },
    end: () => scanner.end(),
  };
}
