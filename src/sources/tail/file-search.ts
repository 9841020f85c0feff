import type { Millis } from '../../model/log-line.ts';
import type { Beginning } from './begin-log.ts';
import { discoverRotated, type Found } from './discover-rotated.ts';
import type { FilePosition } from './file-position.ts';
import type { DoneFiles } from './finished-files.ts';
import { isSame, lookAt } from './open-log.ts';
import { maxFiles, type OpenFiles } from './open-files.ts';
import type { ReadingOrder } from './reading-order.ts';
import type { Report } from './report.ts';
import { stampOf } from './siblings.ts';

/** The number of looks in a row at which a file was cut off. */
const maxCuts = 10;

export interface FileSearchOptions {
  path: string;
  order: ReadingOrder;
  done: DoneFiles;
  report: Report;
  insert: OpenFiles['insert'];
  wall: () => Millis;
}

export interface FileSearch {
  /** The file at the path, or the reason why there is none; undefined before the first look. */
  readonly live: Found['live'] | undefined;
  begin: (beginning: Beginning) => void;
  discover: () => void;
  /** Called once a second: reports a file that is missing for the second time in a row. */
  reportMissing: () => void;
}

export function createFileSearch({ path, order, done, report, insert, wall }: FileSearchOptions): FileSearch {
  const files = order.all;
  const passed = new Map<string, Buffer>();
  let live: Found['live'] | undefined;
  let stamp: string | undefined;
  /** Looks in a row at which nothing could be opened at the path. */
  let obstructed = 0;
  let missing: FilePosition[] = [];
  let looksForMissing = 0;

  return {
    get live() {
      return live;
    },
    begin(beginning) {
      for (const file of beginning.done) done.add(file);
      ({ missing } = beginning);
      order.finished = beginning.finished;
      for (const entry of beginning.entries) insert(entry, undefined);
      if (beginning.isReplaced) report.replaced();
      reportCut(beginning.cut);
      stamp = stampOf(path, wall());
    },
    discover() {
      if (isAsBefore()) return;
      for (let again = true, cuts = 0; again && !report.isStopped;) {
        const found = discoverRotated({ path, files, done, passed, missing, now: wall() });
        if (found === undefined) {
          stamp = undefined;
          again = ++cuts < maxCuts;
          continue;
        }
        if (found.isUndecided) stamp = undefined;
        live = found.live;
        const known = files.length;
        const hasRoom = known + found.entries.length <= maxFiles;
        for (const { entry, before } of found.entries) insert(entry, before);
        reportCut(found.cut);
        // One that could not be opened is tried again at the next look.
        again = hasRoom && files.length > known;
      }
    },
    reportMissing() {
      // Between renaming a log and beginning the next one there is none, for a moment.
      if (live === undefined || !('kind' in live)) {
        obstructed = 0;
        report.unobstructed();
      } else if (++obstructed === 2) report.obstructed(live);
      if (missing.length === 0 || ++looksForMissing < 2) return;
      reportLoss(missing, report);
      missing = [];
    },
  };

  function reportCut(cut: readonly FilePosition[]): void {
    for (const { size, offset } of cut) report.cut(Math.max(0, (size ?? 0) - offset));
  }

  /** No file has come, gone or been renamed since the last look, and what stands at the path is being read. */
  function isAsBefore(): boolean {
    const before = stamp;
    stamp = stampOf(path, wall());
    if (stamp === undefined || stamp !== before || live === undefined || 'kind' in live) return false;
    const there = lookAt(path);
    if ('kind' in there || !files.some(({ log }) => isSame(log.identity, there))) return false;
    live = there;
    return true;
  }
}

/** Files that an earlier run had begun to read are not there any more. */
function reportLoss(missing: readonly FilePosition[], report: Report): void {
  const unread = missing.map(({ size, offset }) => (size === null ? undefined : Math.max(0, size - offset)));
  const known = unread.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  if (known > 0)
    report.lost(known, `was rotated away while no agent was running: ${known} bytes or more had not been read`);
  else if (unread.includes(undefined)) report.lost(undefined, 'was rotated away while no agent was running');
}
