import { execFileSync } from 'node:child_process';
import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { imageCommand } from '../../deploy/image-command.ts';

export type Image = ReturnType<typeof createImage>;

/**
 * Copies the files of an image into a folder of their own, so that no other process has their pages in memory. `folder`
 * is created. `checkout` has its packages installed; its bundle is built.
 */
export function createImage(folder: string, name: string, checkout: string) {
  execFileSync(process.execPath, [join(checkout, 'scripts/build.mjs')], { cwd: checkout, stdio: 'inherit' });
  mkdirSync(folder);
  const place = (file: string): string => {
    const copy = join(folder, basename(file));
    copyFileSync(file, copy);
    const written = openSync(copy, 'r');
    // Only what is on disk can be taken out of the page cache.
    fsyncSync(written);
    closeSync(written);
    return copy;
  };
  const node = place(process.execPath);
  const program = place(join(checkout, 'dist/kube-netfilter-tailer.cjs'));
  const files = [node, program, ...mappedLibraries().map(place)];
  const image = imageCommand(checkout);
  return {
    name,
    /** Node.js, its flags, the program. */
    command: [node, ...image.flags, program],
    env: { ...image.allocator, LD_LIBRARY_PATH: folder },
    /**
     * Takes the files out of the page cache: the group that reads them first is charged for them, as on a node that has
     * just pulled the image.
     */
    evict(): void {
      files.forEach(evict);
    },
  };
}

/** Takes a file that is on disk out of the page cache. */
export function evict(file: string): void {
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

/** The libraries that this process has mapped, because it runs the same Node.js. In the image they come from Debian. */
function mappedLibraries(): string[] {
  const maps = readFileSync('/proc/self/maps', 'utf8');
  return [...new Set(maps.match(/\/\S+\.so[.\d]*$/gm) ?? [])];
}
