import { closeLog, type OpenLog, sizeOf } from './open-log.ts';

/** Notices what is written to a file after its successor has taken over. */
export interface LateWrites {
  /** From now on this file, which has been read up to `offset`. It is closed here. */
  watch: (log: OpenLog, offset: number) => void;
  /** To be called every second. */
  look: () => void;
  close: () => void;
}

/** A writer that has not noticed the change by then will not do so soon; and the space is not to be held for longer. */
const looks = 60;

export function createLateWrites(onLate: (bytes: number) => void): LateWrites {
  let watched: { log: OpenLog; size: number; looks: number } | undefined;

  return {
    watch(log, offset) {
      close();
      watched = { log, size: offset, looks: 0 };
    },
    look() {
      if (watched === undefined) return;
      const size = sizeOf(watched.log) ?? watched.size;
      const late = size - watched.size;
      watched.size = size;
      if (++watched.looks === looks) close();
      if (late > 0) onLate(late);
    },
    close,
  };

  function close(): void {
    if (watched !== undefined) closeLog(watched.log);
    watched = undefined;
  }
}
