import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';

/** The descriptor that a log is written through. Which file that is does not follow from its name. */
export interface LiveFile {
  /** Files that got the inode number of an earlier one. */
  readonly reused: number;
  write: (text: string) => void;
  /** Creates the file to write to from `switchOver` on. Throws if it is there. */
  createNext: (path: string) => void;
  switchOver: () => void;
  truncate: () => void;
  close: () => void;
}

export function createLiveFile(path: string): LiveFile {
  const inodes = new Set<bigint>();
  let reused = 0;
  let fd = create(path);
  let next: number | undefined;

  return {
    get reused() {
      return reused;
    },
    write(text) {
      for (let bytes = Buffer.from(text, 'latin1'); bytes.length > 0;) bytes = bytes.subarray(writeSync(fd, bytes));
    },
    createNext(file) {
      next = create(file);
    },
    switchOver() {
      if (next === undefined) return;
      closeSync(fd);
      fd = next;
      next = undefined;
    },
    truncate: () => ftruncateSync(fd),
    close: () => closeSync(fd),
  };

  function create(file: string): number {
    const created = openSync(file, 'ax');
    const { ino } = fstatSync(created, { bigint: true });
    if (inodes.has(ino)) reused++;
    inodes.add(ino);
    return created;
  }
}
