import { createScanner, type ScanCounts, type ScannerOptions } from '../framing/scanner.ts';
import type { FilePosition, Place } from './file-position.ts';
import { createFingerprint } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';

/** Cuts one file into lines from a place on, and sees that it goes on as it began. */
export interface FileReader {
  /** After the last line that was handed over. */
  readonly place: Place;
  readonly position: Omit<FilePosition, 'size'>;
  readonly counts: Readonly<ScanCounts>;
  readonly offset: number;
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
  head: Buffer;
  /** It is packed: it cannot change, and its own bytes are not those of its content. */
  isPacked: boolean;
}

export function createFileReader(options: FileReaderOptions): FileReader {
  const { log, place: start, head: known, isPacked, needles, lines } = options;
  const fingerprint = createFingerprint(log.fd, known);
  const scanner = createScanner({ needles, lines, skipping: start.skipping });
  let { offset } = start;
  const place = (): Place => ({
    offset: start.offset + scanner.counts.bytes - scanner.held,
    skipping: scanner.skipping,
  });

  return {
    counts: scanner.counts,
    get place() {
      return place();
    },
    get position() {
      const { digest: head, length, part } = fingerprint;
      return { ...log.identity, ...place(), head, headLength: length, part };
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
