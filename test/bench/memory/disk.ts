import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** A disk of its own. */
export interface Disk {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** The default of a node. Pages that are read ahead count in the group, too, and some machines read megabytes. */
const readAheadKilobytes = 128;

/** When its input ends, however it does, the disk is taken away. Direct: the file below must not be in the page cache, too. */
const steps = `
set -e
truncate -s 512M "$1"
mkfs.ext4 -q -F "$1"
device=$(losetup --direct-io=on --find --show "$1")
mount "$device" "$2"
trap 'umount --lazy "$2"' EXIT
losetup --detach "$device"
echo ${readAheadKilobytes} > "/sys/block/$(basename "$device")/queue/read_ahead_kb"
echo done
read -r end || true
`;

/** In `parent`. Needs root, and loop devices. */
export async function createDisk(parent: string): Promise<Disk> {
  const folder = join(parent, 'disk');
  mkdirSync(folder);
  const child = spawn('sh', ['-c', steps, 'sh', join(parent, 'disk.img'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const mounted = once(child.stdout, 'data').then(() => true);
  if (!(await Promise.race([mounted, closed.then(() => false)]))) throw new Error('the disk cannot be mounted');
  return {
    folder,
    async remove() {
      child.stdin.end();
      await closed;
    },
  };
}
