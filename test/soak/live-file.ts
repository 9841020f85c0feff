import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';

export type LiveFile = ReturnType<typeof createLiveFile>;

/** The descriptor that a log is written through. Which file that is does not follow from its name. */
export function createLiveFile(path: string) {
  const inodes = new Set<bigint>();
  let reused = 0;
  let fd = create(path);
  let next: number | undefined;

  return {
    /** Files that got the inode number of an earlier one. */
    get reused(): number {
      return reused;
    },
    write(text: string): void {
      for (let bytes = Buffer.from(text, 'latin1'); bytes.length > 0;) bytes = bytes.subarray(writeSync(fd, bytes));
    },
    /** Creates the file to write to from `switchOver` on. Throws if it is there. */
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
