import type { FileReader } from './file-reader.ts';
import { closeLog, type Identity, isSame, lookAt, type Obstacle, openLog, type OpenLog, sizeOf } from './open-log.ts';
import type { Notice } from './source.ts';

/** Follows a name from file to file: a log is renamed, and a new one begun in its place. */
export interface Succession {
  /**
   * To be called every second. Returns the file to go on with, once it has content and the one that is read has been at its
   * end for two looks; the caller then owns it.
   */
  look: (current: FileReader) => OpenLog | undefined;
  close: () => void;
}

export interface SuccessionOptions {
  path: string;
  onNotice: (notice: Notice) => void;
  /** A file was there that will not be read; how much it held, where that is known. */
  onMissed: (bytes: number | undefined) => void;
}

/** Each is a descriptor, and perhaps space on disk that is not given back. */
const maxSuccessors = 16;

/**
 * Successors are opened when they are seen, so that they can be read even if they have been rotated away by then. What comes
 * and goes between two looks is never seen.
 */
export function createSuccession({ path, onNotice, onMissed }: SuccessionOptions): Succession {
  const successors: OpenLog[] = [];
  let quietAt: number | undefined;
  /** Looks in a row at which nothing could be opened there. */
  let obstructed = 0;
  let notOpened: Identity | undefined;

  return {
    look(current) {
      seek(current.log.identity);
      const [successor] = successors;
      if (successor === undefined || sizeOf(current.log) !== current.offset) return void (quietAt = undefined);
      const wasQuiet = quietAt === current.offset;
      quietAt = current.offset;
      // A writer that is told to begin a new file writes to the old one until then.
      if (!wasQuiet || (successors.length === 1 && sizeOf(successor) === 0)) return undefined;
      quietAt = undefined;
      return successors.shift();
    },
    close() {
      for (const log of successors.splice(0)) closeLog(log);
    },
  };

  function seek(current: Identity): void {
    const there = lookAt(path);
    if ('kind' in there) return complain(there);
    if (isSame(there, current)) dropSuccessors();
    else if (!successors.some(({ identity }) => isSame(there, identity))) open(there);
    else obstructed = 0;
  }

  function open(there: Identity): void {
    if (successors.length === maxSuccessors) {
      if (notOpened === undefined || !isSame(there, notOpened)) onMissed(undefined);
      notOpened = there;
      return;
    }
    const log = openLog(path);
    if ('kind' in log) return complain(log);
    obstructed = 0;
    quietAt = undefined;
    successors.push(log);
  }

  /** The file that is read was renamed back, as the kubelet does when the runtime does not begin a new one. */
  function dropSuccessors(): void {
    obstructed = 0;
    for (const log of successors.splice(0)) {
      const size = sizeOf(log);
      closeLog(log);
      if (size !== 0) onMissed(size);
    }
  }

  function complain({ kind, text }: Obstacle): void {
    // Between renaming a log and beginning the next one there is none, for a moment.
    if (++obstructed !== 2) return;
    if (kind !== 'missing')
      return onNotice({ level: 'error', key: kind, text: `${text}. The file that was there before it is still read` });
    onNotice({
      level: 'warn',
      key: 'deleted',
      text: `${path} was deleted or renamed, and there is no new one; what is written to the old one is still read`,
    });
  }
}
