import { createScanner, type ScanCounts, type Scanner, type ScannerOptions } from '../framing/scanner.ts';
import type { FilePosition, Place } from './file-position.ts';
import { createFingerprint } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';

/** Cuts one file into lines from a place on, and sees that it goes on as it began. */
export interface FileReader {
  /** After the last line that was handed over. */
  readonly position: Omit<FilePosition, 'size'>;
  readonly counts: Readonly<ScanCounts>;
  /** Where the next block has to begin. */
  readonly offset: number;
  /** The first bytes of the file, as far as known. */
  readonly head: Buffer;
  /** The next block, if the file still holds: looked at after it was read, so that it is known to be of the same content. */
  take: (block: Buffer) => void;
  /** False if the file does not begin as it did. Throws the system's error. */
  holds: () => boolean;
  /** Takes an unfinished last line as a line. */
  end: () => void;
}

export interface FileReaderOptions extends Omit<ScannerOptions, 'skipping'> {
  log: OpenLog;
  place: Place;
  /** The first bytes of the content. */
  head: Buffer;
  /** It is packed: it cannot change, and its own bytes are not those of its content. */
  isPacked: boolean;
}

export function createFileReader({ log, place, head, isPacked, ...scanning }: FileReaderOptions): FileReader {
  const fingerprint = createFingerprint(log.fd, head);
  const scanner: Scanner = createScanner({ ...scanning, skipping: place.skipping });
  let offset = place.offset;

  return {
    counts: scanner.counts,
    get position() {
      return {
        ...log.identity,
        offset: place.offset + scanner.counts.bytes - scanner.held,
        head: fingerprint.digest,
        headLength: fingerprint.length,
        skipping: scanner.skipping,
      };
    },
    get offset() {
      return offset;
    },
    get head() {
      return fingerprint.head;
    },
    take(block) {
      offset += block.length;
      scanner.write(block);
    },
    holds: () => isPacked || fingerprint.holds(),
    end: () => scanner.end(),
  };
}
