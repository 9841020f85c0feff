import type { Millis } from '../model/log-line.ts';
import type { Access } from './http.ts';

const reloadInterval: Millis = 5000;

/** Where the API server is, by the files as they were last read. Throws when `load` does. */
export function createReloadedAccess(load: () => Access, now: () => Millis) {
  let access = load();
  let loaded = now();

  return { current: (): Access => access, reload };

  /** At most every few seconds. */
  function reload(): void {
    if (now() - loaded < reloadInterval) return;
    loaded = now();
    try {
      access = load();
    } catch {
      // A file is just being replaced. The old configuration is no worse than none.
    }
  }
}
