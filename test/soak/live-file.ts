import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';

export type LiveFile = ReturnType<typeof createLiveFile>;

/** The descriptor through which a log is written. The file's name does not show which file that is. */
export function createLiveFile(path: string) {
  const inodes = new Set<bigint>();
  let reused = 0;
  let fd = create(path);
  let next: number | undefined;

  return {
    /** How many files got the inode number of an earlier one. */
    get reused(): number {
      return reused;
    },
    write(text: string): void {
      for (let bytes = Buffer.from(text, 'latin1'); bytes.length > 0;) bytes = bytes.subarray(writeSync(fd, bytes));
    },
    /** Creates the file that is written to after `switchOver`. Throws if it exists. */
    createNext(file: string): void {
      next = create(file);
    },
    switchOver(): void {
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
