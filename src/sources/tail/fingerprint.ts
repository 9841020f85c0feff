import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';

/** Bytes at the start of a file that distinguish it from others, once it has so many. */
export const headLength = 1024;

/** Content of this length distinguishes files by itself: it holds a time stamp and more. */
export const partLength = 64;

/** A file's first bytes: inode numbers are reused at once, and a file that was cut off may be longer by the next look. */
export interface Fingerprint {
  readonly digest: string;
  readonly length: number;
  /** Digest of the first `partLength` bytes; null: there are fewer. */
  readonly part: string | null;
  readonly head: Buffer;
  /** False if the file begins otherwise by now; else takes in what was added. Throws the system's error. */
  holds: () => boolean;
}

/** `known`: from `readHead`; by default nothing is known yet. */
export function createFingerprint(fd: number, known: Buffer = Buffer.alloc(0)): Fingerprint {
  const probe = Buffer.allocUnsafeSlow(headLength);
  let head = known;
  let digest: string | undefined;
  let part: string | undefined;

  return {
    get digest() {
      return (digest ??= digestOf(head));
    },
    get length() {
      return head.length;
    },
    get part() {
      if (head.length < partLength) return null;
      return (part ??= digestOf(head.subarray(0, partLength)));
    },
    get head() {
      return head;
    },
    holds() {
      const count = readSync(fd, probe, 0, headLength, 0);
      if (count < head.length || head.compare(probe, 0, head.length) !== 0) return false;
      if (count > head.length) {
        head = Buffer.from(probe.subarray(0, count));
        digest = undefined;
      }
      return true;
    },
  };
}

/** Throws the system's error. */
export function readHead(fd: number): Buffer {
  const head = Buffer.alloc(headLength);
  return head.subarray(0, readSync(fd, head, 0, headLength, 0));
}

export function digestOf(head: Buffer): string {
  return createHash('sha256').update(head).digest('base64url');
}
