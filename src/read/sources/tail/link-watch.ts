import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { linksOf } from './siblings.ts';

/** Notices at once when a symbolic link is turned, which does not change the file that it led to. */
export interface LinkWatch {
  /** Watches the present links of the path. Call it now and then. */
  update: () => void;
  cancel: () => void;
}

export function createLinkWatch(path: string, turned: () => void): LinkWatch {
  const watchers = new Map<string, FSWatcher>();
  return {
    update(): void {
      const links = linksOf(path);
      for (const [link, watcher] of watchers) if (!links.includes(link)) forget(link, watcher);
      for (const link of links) if (!watchers.has(link)) begin(link);
    },
    cancel(): void {
      for (const [link, watcher] of watchers) forget(link, watcher);
    },
  };

  /** If the kernel has no watch left, the path is still checked once a second. */
  function begin(link: string): void {
    try {
      const watcher = watch(dirname(link), { persistent: false }, (event, name) => {
        if (event === 'rename' && (name === null || name === basename(link))) turned();
      });
      watcher.on('error', () => forget(link, watcher));
      watchers.set(link, watcher);
      // It may have been turned just before.
      turned();
    } catch {
      watchers.delete(link);
    }
  }

  function forget(link: string, watcher: FSWatcher): void {
    watcher.close();
    watchers.delete(link);
  }
}
