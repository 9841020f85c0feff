import type { Millis } from '../model/log-line.ts';

/** Connections of all nodes break at once when an API server stops; they do not all come back in the same second. */
const reconnectSpread: Millis = 2000;

/** Longest pause where several watches in a row have brought nothing. */
const longestEmptyPause: Millis = 30_000;

/** Pauses between watches that end without a failure. */
export function createWatchPauses(random: () => number) {
  let watches = 0;
  /** In a row. */
  let empty = 0;

  return {
    /** The pause before the next watch; undefined before the first. */
    next(): Millis | undefined {
      if (watches++ === 0) return undefined;
      return Math.min(1000 * (2 ** Math.max(0, empty - 1) - 1), longestEmptyPause) + random() * reconnectSpread;
    },
    /** A watch begins, and has brought nothing yet. */
    begin: (): void => void empty++,
    /** It brought something, or failed. */
    reset: (): void => void (empty = 0),
  };
}
