import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A file system of its own, with faults as real ones have. */
export interface Disk {
  readonly folder: string;
  /** Every write hangs from now on. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  /** No byte is free from now on. */
  readonly fill: () => void;
  readonly empty: () => void;
  /** It can only be read from now on, as after an error of the disk. */
  readonly fail: () => Promise<void>;
  /** Mounts it again, once nothing has a file of it open. */
  readonly repair: () => Promise<void>;
  /** Takes the disk away; thaws it first if need be. */
  readonly remove: () => Promise<void>;
}

/**
 * One step for each line of its input. When that ends, however it does, the disk is thawed and removed: no signal could end a
 * process that hangs on it. While it is not mounted, nothing can be written in its place: that is a file system which is only read.
 */
const steps = `
set -e
image=$1 place=$2
truncate -s 16M "$image"
mkfs.ext4 -q -F -b 1024 "$image"
mount -t tmpfs none "$place"
mkdir "$place/disk"
mount -o remount,ro "$place"
mount -o loop "$image" "$place/disk"
trap 'fsfreeze --unfreeze "$place/disk" 2>/dev/null || true; umount --lazy "$place/disk"; umount --lazy "$place"' EXIT
echo done
while read -r step; do
  case "$step" in
    freeze | unfreeze) fsfreeze "--$step" "$place/disk" ;;
    fail) mount -o remount,abort "$place/disk" ;;
    repair)
      until umount "$place/disk" 2>/dev/null; do sleep 0.1; done
      mount -o loop "$image" "$place/disk"
      ;;
  esac
  echo done
done
`;

/** In `parent`. Root on Linux, with loop devices. */
export async function createDisk(parent: string): Promise<Disk> {
  const place = join(parent, 'mount');
  const folder = join(place, 'disk');
  mkdirSync(place);
  const child = spawn('sh', ['-c', steps, 'sh', join(parent, 'disk.img'), place], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
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
    freeze: step('freeze'),
    thaw: step('unfreeze'),
    fail: step('fail'),
    repair: step('repair'),
    fill() {
      for (let size = 1024 * 1024; size >= 1; size /= 2) while (isWritten(filler, size));
    },
    empty: () => rmSync(filler),
    async remove() {
      child.stdin.end();
      await closed;
    },
  };
}

/** Whether there was room for so many bytes at the end of a file. */
function isWritten(file: string, size: number): boolean {
  try {
    writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
