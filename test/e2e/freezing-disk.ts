import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A disk of its own, on which every write can be made to hang. */
export interface FreezingDisk {
  readonly folder: string;
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  /** Takes the disk away; thaws it first if need be. */
  readonly remove: () => Promise<void>;
}

/**
 * One step for each line of its input. When that ends, however it does, the disk is thawed and removed: no signal could end a
 * process that hangs on it.
 */
const steps = `
set -e
truncate -s 32M "$1"
mkfs.ext4 -q -F "$1"
mount -o loop "$1" "$2"
trap 'fsfreeze --unfreeze "$2" 2>/dev/null || true; umount --lazy "$2"' EXIT
echo done
while read -r step; do
  fsfreeze "--$step" "$2"
  echo done
done
`;

/** In `parent`. Root on Linux, with loop devices. */
export async function createFreezingDisk(parent: string): Promise<FreezingDisk> {
  const folder = join(parent, 'disk');
  mkdirSync(folder);
  const child = spawn('sh', ['-c', steps, 'sh', join(parent, 'disk.img'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  const untilDone = async (what: string): Promise<void> => {
    if ((await answers.next()).done === true) throw new Error(`[freezing disk] it cannot ${what}`);
  };
  await untilDone('be mounted');
  return {
    folder,
    async freeze() {
      child.stdin.write('freeze\n');
      await untilDone('be frozen');
    },
    async thaw() {
      child.stdin.write('unfreeze\n');
      await untilDone('be thawed');
    },
    async remove() {
      child.stdin.end();
      await closed;
    },
  };
}
