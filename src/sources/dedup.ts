import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { type Awaited, createForgottenLines } from './forgotten-lines.ts';
import type { Json } from './source.ts';

export interface DedupOptions {
  sources: readonly string[];
  /** `state()` of an earlier one, perhaps of other sources; anything else is taken for none. */
  saved: Json | undefined;
  /** Lines of one text whose times are no further apart may be the same; half as much again is possible. */
  window?: Millis;
  /** Texts that are remembered, each counted once per half a window: how far one source may be behind another, in lines. */
  max?: number;
  /** Hashes of lines that are remembered after that. Default: what a source of 4,000 lines a second shows in half a minute, and none with `countsForgotten`. */
  maxHashes?: number;
  /** Those that have all lines, so that one repeats the other from its first line on. Default: none. */
  whole?: readonly string[];
  /** Whether a line counts again that another source had shown when there was no more room to wait for it. Default: false. */
  countsForgotten?: boolean;
}

export interface Dedup {
  /** Whether no other source has shown this line. Only for the kernel's own: a program that writes the text must not count. */
  isFirst: (source: string, text: string, time: Millis) => boolean;
  readonly counts: Readonly<{
    repeats: number;
    /** Lines that were no longer waited for when there was no room: for each, a line too few may be counted. */
    forgotten: number;
  }>;
  /** Lines that some source has yet to show. Belongs to the positions of the sources at the same moment. */
  state: () => Json;
}

/** A restart finds the latest so many texts that were waited for; more than a second's worth, but few in the snapshot. */
const maxSaved = 2048;

/**
 * A text may be logged often: of what is logged within a window, the highest count of any source is the number of lines.
 * A text that one source has lost and another has logged again within a window is taken for the same: a line too few.
 * So is a line of a source that repeats another one, as long as it has yet to show lines that there was no room to wait for.
 */
export function createDedup(options: DedupOptions): Dedup {
  const { sources, saved, window = 60_000, max = 8192, whole = [], countsForgotten = false } = options;
  const { maxHashes = countsForgotten ? 0 : 131_072 } = options;
  const counts = { repeats: 0, forgotten: 0 };
  if (sources.length < 2) return { counts, isFirst: () => true, state: () => ({}) };

  const places = new Map(sources.map((source, place) => [source, place]));
  const period = window / 2;
  const restored = restore(saved, sources);
  const isWhole = sources.map((source) => whole.includes(source));
  const isRepeat = (by: number, place: number): boolean => isWhole[by] === true && isWhole[place] === true;
  const forgotten = createForgottenLines({
    sources: sources.length,
    repeat: isRepeat,
    saved: restored.forgotten,
    maxHashes,
    onForgotten: (lines) => void (counts.forgotten += lines),
  });
  counts.forgotten += restored.left;
  /** By period and text. No order of use: deleting the last of an LRUCache takes its size. */
  const awaited = new LRUCache<string, Awaited>({
    max,
    dispose(line, key, reason) {
      if (reason === 'evict' && isAwaited(line)) forgotten.add(line, periodOf(key), hashIn(key));
    },
  });
  for (const [key, line] of restored.entries.toReversed()) awaited.set(key, line);

  return {
    counts,
    isFirst(source, text, time) {
      const place = places.get(source);
      if (place === undefined) return true;
      const hash = hashOf(withoutEnvelope(text));
      const at = Math.floor(time / period);
      if (wasAwaited(place, hash, at) || (!countsForgotten && forgotten.take(place, at))) {
        counts.repeats++;
        return false;
      }
      const key = keyOf(at, hash);
      let line = awaited.peek(key);
      if (line === undefined) awaited.set(key, (line = { by: place, missing: sources.map(() => 0) }));
      line.by = place;
      const { missing } = line;
      for (let other = 0; other < missing.length; other++) if (other !== place) (missing[other] as number)++;
      return true;
    },
    state() {
      const all = [...awaited.entries()].filter(([, line]) => isAwaited(line));
      const rest = all.slice(maxSaved).map(([key, line]): [number, Awaited] => [periodOf(key), line]);
      const { state, left } = forgotten.state(rest, maxSaved - all.length);
      return {
        sources: [...sources],
        awaited: all.slice(0, maxSaved).map(([key, { by, missing }]) => [key, missing, by]),
        left,
        forgotten: state,
      };
    },
  };

  /** The earliest first: each source shows its lines in the order they were logged. */
  function wasAwaited(place: number, hash: number, at: number): boolean {
    for (let near = at - 2; near <= at + 2; near++) {
      if (forgotten.takeHashed(place, near, hash)) return true;
      const line = awaited.peek(keyOf(near, hash));
      if (line === undefined || line.missing[place] === 0) continue;
      (line.missing[place] as number)--;
      forgotten.noteRepeat(line.by, place);
      return true;
    }
    return false;
  }
}

function keyOf(period: number, hash: number): string {
  return `${period}.${hash.toString(36)}`;
}

function hashIn(key: string): number {
  return Number.parseInt(key.slice(key.indexOf('.') + 1), 36);
}

function periodOf(key: string): number {
  return Number(key.slice(0, key.indexOf('.')));
}

type Entry = [key: string, line: Awaited];

interface Restored {
  /** Lines that there was no room for. */
  left: number;
  /** The latest comes first, as it was saved. */
  entries: Entry[];
  /** As it was saved, if that was of the same sources. */
  forgotten: Json | undefined;
}

/** A source that is new waits for nothing. */
function restore(saved: Json | undefined, sources: readonly string[]): Restored {
  const { sources: names, awaited, left, forgotten } = (saved ?? {}) as Readonly<Record<string, Json>>;
  if (!Array.isArray(names) || !Array.isArray(awaited)) return { left: 0, entries: [], forgotten: undefined };
  const places = sources.map((source) => names.indexOf(source));
  const entries = (awaited as Json[]).flatMap((entry): Entry[] => {
    const [key, old, first] = Array.isArray(entry) ? (entry as Json[]) : [];
    if (typeof key !== 'string' || !Array.isArray(old)) return [];
    const missing = places.map((place) => countOf((old as Json[])[place]));
    const line = { by: typeof first === 'number' ? places.indexOf(first) : -1, missing };
    return isAwaited(line) ? [[key, line]] : [];
  });
  const isSame = places.length === names.length && places.every((place, index) => place === index);
  return { left: countOf(left), entries, forgotten: isSame ? forgotten : undefined };
}

function countOf(value: Json | undefined): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

function isAwaited({ missing }: Awaited): boolean {
  return missing.some((count) => count > 0);
}

const uptime = /^\[ *\d+\.\d+\]/;
/** rsyslog's and busybox's ways to write a byte that cannot be printed: `#011`, `^I`. */
const escapes = /#[0-3][0-7]{2}|\^[@-_]/g;

/** Sources differ in what they leave around a text, and in what becomes of all that is no visible ASCII: both are left out. */
function withoutEnvelope(text: string): string {
  const message = text.startsWith('[') ? text.replace(uptime, '') : text;
  return message.includes('#') || message.includes('^') ? message.replace(escapes, '') : message;
}

/** 53 bits of cyrb53 (public domain), far cheaper than SHA-256. Two texts of one hash are counted, at worst as each other. */
function hashOf(text: string): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f) continue;
    low = Math.imul(low ^ code, 2_654_435_761);
    high = Math.imul(high ^ code, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & high) + (low >>> 0);
}
