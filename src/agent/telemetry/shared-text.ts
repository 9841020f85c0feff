import type { Millis } from '../../base/model/log-line.ts';

/** Returns the bytes of a text, which all requests within an interval share. */
export type SharedText = () => Promise<Buffer>;

/** The most bytes of texts that clients may still be reading, before the latest is given again. */
const mostBytes = 16 * 1024 * 1024;

/** How long a client may read a text: as long as an answer may last. */
const takenFor: Millis = 10_000;

/** Makes one text at a time. Otherwise slow clients would keep one text for each second in memory. */
export function createSharedText(
  text: () => Promise<string | Buffer>,
  interval: Millis,
  now: () => Millis = () => performance.now(),
): SharedText {
  let latest: TextVersion | undefined;
  let alive: TextVersion[] = [];

  return async () => {
    const isOld = latest === undefined || (now() - latest.since >= interval && hasRoom());
    if (isOld || latest === undefined) latest = make();
    const given = latest;
    const bytes = await given.bytes;
    given.size = bytes.length;
    given.lastGiven = now();
    return bytes;
  };

  function make(): TextVersion {
    const made: TextVersion = {
      bytes: text().then((whole) => (typeof whole === 'string' ? Buffer.from(whole) : whole)),
      since: now(),
      lastGiven: Infinity,
      size: 0,
    };
    alive.push(made);
    made.bytes.catch(() => {
      alive = alive.filter((each) => each !== made);
      if (latest === made) latest = undefined;
    });
    return made;
  }

  /** Two texts may exist even if a single one is larger. */
  function hasRoom(): boolean {
    alive = alive.filter((each) => each === latest || now() - each.lastGiven < takenFor);
    return alive.length < 2 || alive.reduce((sum, { size }) => sum + size, 0) < mostBytes;
  }
}

interface TextVersion {
  readonly bytes: Promise<Buffer>;
  readonly since: Millis;
  lastGiven: Millis;
  size: number;
}
