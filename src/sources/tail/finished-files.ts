import type { Place } from './file-position.ts';
import { isSame, type Identity } from './open-log.ts';
import { begins, isCopy } from './relation.ts';

/** A file that is done with: its content must not be read again, under whatever name it comes back. */
export interface FinishedFile {
  /** Undefined: only copies of it can be found, as the file itself has another content now. */
  identity: Identity | undefined;
  head: Buffer;
  place: Place;
}

export interface DoneFiles {
  add: (file: FinishedFile) => void;
  /** The file itself, by its inode, if it still begins as it did. */
  find: (identity: Identity, head: Buffer) => FinishedFile | undefined;
  hasCopyOf: (head: Buffer) => boolean;
  /** Called after each look at all files that exist, with their first bytes. */
  keepOnly: (seen: readonly Buffer[]) => void;
}

/** Each has up to 1 KiB. Of more rotated files than that, the oldest would be taken for new ones. */
const maxFiles = 4096;

export function createFinishedFiles(): DoneFiles {
  let files: { file: FinishedFile; missed: number }[] = [];
  return {
    add(file) {
      files = [...files.slice(1 - maxFiles), { file, missed: 0 }];
    },
    find(identity, head) {
      const isOne = ({ identity: its, head: known }: FinishedFile): boolean =>
        // Nothing was read of an empty file: with content it is new, or another file that got its inode.
        its !== undefined && isSame(its, identity) && (known.length > 0 ? begins(head, known) : head.length === 0);
      return files.findLast(({ file }) => isOne(file))?.file;
    },
    hasCopyOf: (head) => files.some(({ file }) => isCopy(file.head, head)),
    keepOnly(seen) {
      // The first miss does not count: a file that is packed or renamed may be nowhere for a moment.
      for (const entry of files)
        entry.missed = seen.some((head) => isCopy(head, entry.file.head)) ? 0 : entry.missed + 1;
      files = files.filter(({ missed }) => missed < 2);
    },
  };
}
