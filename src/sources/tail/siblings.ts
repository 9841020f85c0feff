import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';

export interface Sibling {
  path: string;
  isPacked: boolean;
}

/** Matches `.1`, `.2.gz` (logrotate, Docker): the higher the older. */
const numbered = /^\.(\d{1,4})(\.gz)?$/;
/** Matches `.20261121-101500` (kubelet), `-20261121` and `-20261121-1795200000` (logrotate's dateext), with or without `.gz`. */
const dated = /^[.-](\d{8}(?:[-T.]?\d{2,17})?)(\.gz)?$/;
/** Go's lumberjack (Hubble, GKE, Antrea, AWS) names `events.log` anew as `events-2026-11-21T10-15-00.000.log`. */
const datedBefore = /^-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})$/;

/** So many links the kernel follows (path_resolution(7)). */
const maxLinks = 40;

/** Lists the rotated files beside a log, the oldest first. Where the path is a symbolic link, also those beside its target. */
export function siblingsOf(path: string): Sibling[] {
  return placesOf(path).flatMap((place) => siblingsBeside(place));
}

/** Changes whenever a file beside the log comes, goes or is renamed; undefined while it may still change unseen. */
export function stampOf(path: string, now: number): string | undefined {
  const times = placesOf(path).map((place) => statSync(dirname(place), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  // Clocks of file systems go in steps of some milliseconds: two changes may have the same time.
  return times.every((time) => Math.abs(now - time) > 1000) ? times.join(' ') : undefined;
}

function siblingsBeside(path: string): Sibling[] {
  const [folder, base, ending] = [dirname(path), basename(path), extname(path)];
  const stem = base.slice(0, base.length - ending.length);
  const found: { order: string; sibling: Sibling }[] = [];
  for (const name of namesIn(folder)) {
    if (!name.startsWith(stem) || name === base) continue;
    const isPacked = name.endsWith('.gz');
    const whole = isPacked ? name.slice(0, -3) : name;
    const suffix = name.startsWith(base) ? name.slice(base.length) : '';
    const number = numbered.exec(suffix);
    const date =
      dated.exec(suffix) ??
      (whole.endsWith(ending) ? datedBefore.exec(whole.slice(stem.length, whole.length - ending.length)) : null);
    if (number === null && date === null) continue;
    // Where a file and its packed copy are there, the packed one comes first.
    const order = number === null ? `a${date?.[1]}` : `b${String(9999 - Number(number[1])).padStart(4, '0')}`;
    found.push({ order: `${order}${isPacked ? 0 : 1}`, sibling: { path: join(folder, name), isPacked } });
  }
  return found.toSorted((a, b) => (a.order < b.order ? -1 : 1)).map(({ sibling }) => sibling);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The folder is gone or may not be read, so no rotated files are known.
    return [];
  }
}

/** Returns the path, and where a symbolic link points to, even if nothing is there: that is so for a moment while a log is rotated. */
function placesOf(path: string): string[] {
  let place = path;
  for (let links = 0; links < maxLinks; links++) {
    try {
      const target = readlinkSync(place);
      place = resolve(realpathSync.native(dirname(place)), target);
    } catch {
      break;
    }
  }
  return place === path ? [path] : [path, place];
}
