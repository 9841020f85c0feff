import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';

export interface Sibling {
  path: string;
  isPacked: boolean;
}

/** Matches `.1`, `.2.gz` (logrotate, Docker). A higher number means an older file. */
const numbered = /^\.(\d{1,4})(\.gz)?$/;
/** Matches `.20261121-101500` (kubelet), `-20261121`, `-20261121-1795200000` and `-2026-11-21` (logrotate's dateext), with or without `.gz`. */
const dated = /^[.-](\d{4}-?\d\d-?\d\d(?:[-_T.]?\d{2,17}|[-_T]\d\d[-:]\d\d(?:[-:]\d\d)?)?)(\.gz)?$/;
/** Matches names of Go's lumberjack (Hubble, GKE, Antrea, AWS), which renames `events.log` to `events-2026-11-21T10-15-00.000.log`. */
const datedBefore = /^-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})$/;
/** Matches the date in the name of a file that a link is turned to each day: `kern-20261121.log`, `kern.2026-11-21`. */
const dateInName = /(?<!\d)\d{4}-?\d\d-?\d\d(?:[-_T.]?\d\d){0,3}(?!\d)/;

/** The most links that the kernel follows (path_resolution(7)). */
const maxLinks = 40;

/** The most folders beside a log that are searched for rotated files. */
const maxFolders = 256;

/**
 * Lists the rotated files beside a log, the oldest first. If the path is a symbolic link, also lists those beside its target. `earlier`:
 * other paths that the log had.
 */
export function siblingsOf(path: string, earlier: readonly string[] = []): Sibling[] {
  const places = placesOf(path);
  const all = [...places.slice(1).flatMap(filesOfOtherDates), ...[...earlier, ...places].flatMap(siblingsBeside)];
  return [...new Map(all.map((sibling) => [sibling.path, sibling])).values()];
}

/** Returns the path that the log would have in each folder beside it. */
export function pathsInFolders(path: string): string[] {
  const [folder, base] = [dirname(path), basename(path)];
  return ifReadable(() => readdirSync(folder, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .slice(0, maxFolders)
    .map(({ name }) => join(folder, name, base));
}

/** Changes when a file beside the log is added, removed or renamed; undefined while a change could go unnoticed. */
export function changeStampOf(path: string, now: number): string | undefined {
  const times = placesOf(path).map((place) => statSync(dirname(place), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  // Clocks of file systems have steps of some milliseconds, so two changes may have the same time.
  return times.every((time) => Math.abs(now - time) > 1000) ? times.join(' ') : undefined;
}

/** Lists the files that a link to this one was turned to before: their names have another date, and are equal otherwise. */
function filesOfOtherDates(path: string): Sibling[] {
  const [folder, base] = [dirname(path), basename(path)];
  const date = dateInName.exec(base);
  if (date === null) return [];
  const [before, after] = [base.slice(0, date.index), base.slice(date.index + date[0].length)];
  const isOther = (name: string): boolean => {
    const found = dateInName.exec(name.startsWith(before) ? name.slice(before.length) : '');
    const ending = found?.index === 0 ? name.slice(before.length + found[0].length) : undefined;
    return name !== base && (ending === after || ending === `${after}.gz`);
  };
  // Dates of one form have the order of their texts.
  return namesIn(folder)
    .filter(isOther)
    .toSorted()
    .map((name) => ({ path: join(folder, name), isPacked: name.endsWith('.gz') && !base.endsWith('.gz') }));
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
    // If a file and its packed copy both exist, the packed one comes first.
    const order = number === null ? `a${date?.[1]}` : `b${String(9999 - Number(number[1])).padStart(4, '0')}`;
    found.push({ order: `${order}${isPacked ? 0 : 1}`, sibling: { path: join(folder, name), isPacked } });
  }
  return found.toSorted((a, b) => (a.order < b.order ? -1 : 1)).map(({ sibling }) => sibling);
}

function namesIn(folder: string): string[] {
  return ifReadable(() => readdirSync(folder));
}

function ifReadable<Entry>(list: () => Entry[]): Entry[] {
  try {
    return list();
  } catch {
    // The folder does not exist or may not be read, so no rotated files are known.
    return [];
  }
}

/** Returns the path and the target of a symbolic link, even if nothing is there: while a log is rotated, that is normal for a moment. */
function placesOf(path: string): string[] {
  const { links, end } = wayOf(path);
  return links.length === 0 ? [path] : [path, end];
}

/** Returns the symbolic links that the path leads over. */
export function linksOf(path: string): string[] {
  return wayOf(path).links;
}

function wayOf(path: string): { links: string[]; end: string } {
  const links: string[] = [];
  let end = path;
  while (links.length < maxLinks) {
    try {
      const target = readlinkSync(end);
      links.push(end);
      end = resolve(realpathSync.native(dirname(end)), target);
    } catch {
      break;
    }
  }
  return { links, end };
}
