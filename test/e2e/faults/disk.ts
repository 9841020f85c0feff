import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Disk = Awaited<ReturnType<typeof createDisk>>;

/** A file system of its own in `parent`, with the faults that real ones have. Needs root on Linux, and loop devices. */
export async function createDisk(parent: string, capacity = '16M') {
  const place = join(parent, 'mount');
  const folder = join(place, 'disk');
  mkdirSync(place);
  const args = [join(import.meta.dirname, 'disk.sh'), join(parent, 'disk.img'), place, capacity];
  const child = spawn('sh', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  const untilDone = async (what: string): Promise<void> => {
    if ((await answers.next()).done === true) throw new Error(`[disk] ${what} failed`);
  };
  const step = (what: string) => async (): Promise<void> => {
    child.stdin.write(`${what}\n`);
    await untilDone(what);
  };
  await untilDone('mount');
  const filler = join(folder, 'filler');
  return {
    folder,
    /** Every write hangs from now on. */
    freeze: step('freeze'),
    thaw: step('unfreeze'),
    /** From now on it is read-only, as after a disk error. */
    fail: step('fail'),
    /** Mounts it again, once none of its files is open. */
    repair: step('repair'),
    /** From now on no byte is free. */
    fill() {
      for (let size = 1024 * 1024; size >= 1; size /= 2) while (isWritten(filler, size));
    },
    empty: () => rmSync(filler),
    /** Removes the disk; thaws it first if necessary. */
    async remove() {
      child.stdin.end();
      await closed;
    },
  };
}

/** Whether there was room for this many bytes at the end of a file. */
function isWritten(file: string, size: number): boolean {
  try {
    writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
