import { readdirSync, statSync } from 'node:fs';

/** The questions to the file system. Both throw its errors. */
export interface Folders {
  /** Another text whenever a name was added or taken away; undefined if nothing is there. */
  stampOf: (path: string) => string | undefined;
  namesIn: (path: string) => string[];
}

export const folders: Folders = {
  stampOf(path) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev} ${stat.ino} ${stat.mtimeNs}`;
  },
  namesIn: (path) => readdirSync(path),
};

export type FolderLook =
  | { kind: 'names'; names: string[] }
  | { kind: 'same' | 'missing' }
  | { kind: 'error'; error: unknown };

export interface FolderWatch {
  /** `again`: it is listed in any case. Never throws. */
  look: (again: boolean) => FolderLook;
}

export function createFolderWatch(path: string, { stampOf, namesIn }: Folders): FolderWatch {
  let known: string | undefined;
  /** It was listed a second time: what changed within one tick of the file system's clock leaves the stamp as it is. */
  let isSettled = false;

  return {
    look(again) {
      try {
        const stamp = stampOf(path);
        if (stamp === undefined) return gone();
        if (stamp === known && isSettled && !again) return { kind: 'same' };
        const names = namesIn(path);
        isSettled = stamp === known;
        known = stamp;
        return { kind: 'names', names };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR') return gone();
        known = undefined;
        return { kind: 'error', error };
      }
    },
  };

  function gone(): FolderLook {
    known = undefined;
    return { kind: 'missing' };
  }
}
