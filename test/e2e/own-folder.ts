import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a new folder for what a test writes; the test removes it. Its name contains its kind and the owner's process
 * id. Folders of the same kind whose process was killed before it could remove them are removed here.
 */
export function createOwnFolder(kind: string, parent = tmpdir()): string {
  const prefix = `kube-netfilter-tailer-${kind}-`;
  for (const name of readdirSync(parent).filter((each) => each.startsWith(prefix))) {
    const [owner] = /^\d+(?=-)/.exec(name.slice(prefix.length)) ?? [];
    if (owner !== undefined && !existsSync(`/proc/${owner}`))
      rmSync(join(parent, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, `${prefix}${process.pid}-`));
}
