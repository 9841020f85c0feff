import { reasonOf } from '../system-error.ts';
import { endOfFile, fits, type Place, readFilePosition, startOfFile } from './file-position.ts';
import { readHead } from './fingerprint.ts';
import { closeLog, type Obstacle, openLog, type OpenLog } from './open-log.ts';
import type { Position } from './source.ts';

/** A log, opened, and where in it to go on. */
export interface Entry {
  log: OpenLog;
  place: Place;
  /** The first bytes of the file. */
  head: Buffer;
  /** The saved position is one of another file, or this one does not hold what it did then. */
  replaced: boolean;
}

/** Goes on at `saved`, in a successor of that file at its start, and without a usable one at `from`. Never throws. */
export function enterLog(path: string, saved: Position | undefined, from: 'start' | 'end'): Entry | Obstacle {
  const log = openLog(path);
  if ('kind' in log) return log;
  try {
    const head = readHead(log.fd);
    const known = readFilePosition(saved);
    if (known === undefined)
      return { log, place: from === 'end' ? endOfFile(log) : startOfFile, head, replaced: false };
    const replaced = !fits(log, head, known);
    return { log, place: replaced ? startOfFile : known, head, replaced };
  } catch (error) {
    closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}
