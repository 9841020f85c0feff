import { readdirSync, statSync } from 'node:fs';
import type { Millis } from '../../../base/model/log-line.ts';

export type ListFolder = (path: string) => readonly string[];

/** Returns when the folder, or the right to read it, was last changed. Both throw the system's error. */
export type FolderTime = (path: string) => Millis;

/** Names in folders that are read again and again. */
export interface FolderNames {
  /** Begins the next turn. */
  begin: () => void;
  /** Returns the present names or, for one of many folders, those of a few turns before. Throws the system's error. */
  names: ListFolder;
  /** Returns the present names. */
  latest: ListFolder;
}

interface FolderListing {
  readonly names: readonly string[];
  /** When the folder was last changed; undefined while a later change could have the same time. */
  readonly changed: Millis | undefined;
  readonly place: number;
  used: number;
}

/** How many folders are checked in a turn, at about 4 µs each. With more, they take turns. */
const mostInTurn = 512;

/** Clocks of file systems have steps of some milliseconds, so two changes may have the same time. */
const certain: Millis = 1000;

/** How many turns an unused folder is remembered. */
const memory = 64;

/** A kubelet's folder of logs may have thousands of folders, which hardly ever change: the cost must not grow with them. */
export function createFolderNames(
  now: () => Millis = Date.now,
  list: ListFolder = (path) => readdirSync(path),
  timeOf: FolderTime = (path) => statSync(path).ctimeMs,
): FolderNames {
  const known = new Map<string, FolderListing>();
  let turn = 0;
  let places = 0;

  return {
    begin(): void {
      turn++;
      if (turn % memory !== 0) return;
      for (const [path, { used }] of known) if (turn - used > memory) known.delete(path);
    },
    names(path) {
      const one = known.get(path);
      const turns = Math.ceil(known.size / mostInTurn);
      if (one?.changed === undefined || (one.place + turn) % turns === 0) return latest(path);
      one.used = turn;
      return one.names;
    },
    latest,
  };

  function latest(path: string): readonly string[] {
    const one = known.get(path);
    const changed = timeOf(path);
    if (one !== undefined && one.changed === changed) {
      one.used = turn;
      return one.names;
    }
    const names = list(path);
    const isCertain = Math.abs(now() - changed) > certain;
    known.set(path, { names, changed: isCertain ? changed : undefined, place: one?.place ?? places++, used: turn });
    return names;
  }
}
