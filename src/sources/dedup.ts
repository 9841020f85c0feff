import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import type { Json } from './source.ts';

export interface DedupOptions {
  sources: readonly string[];
  /** `state()` of an earlier one, perhaps of other sources; anything else is taken for none. */
  saved: Json | undefined;
  /** Lines of one text whose times are no further apart may be the same; half as much again is possible. */
  window?: Millis;
  /** Texts that are remembered, each counted once per half a window: how far one source may be behind another, in lines. */
  max?: number;
}

export interface Dedup {
  /** Whether no other source has shown this line. Only for the kernel's own: a program that writes the text must not count. */
  isFirst: (source: string, text: string, time: Millis) => boolean;
  readonly counts: Readonly<{
    repeats: number;
    /** Lines that were no longer waited for when there was no room: should they come, they count again. */
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
 */
export function createDedup({ sources, saved, window = 60_000, max = 8192 }: DedupOptions): Dedup {
  const counts = { repeats: 0, forgotten: 0 };
  if (sources.length < 2) return { counts, isFirst: () => true, state: () => ({}) };

  const places = new Map(sources.map((source, place) => [source, place]));
  const period = window / 2;
  /** By period and text: lines each source has yet to show. No order of use: deleting the last of an LRUCache takes its size. */
  const awaited = new LRUCache<string, number[]>({
    max,
    dispose(missing, _, reason) {
      if (reason === 'evict') counts.forgotten += Math.max(...missing);
    },
  });
  const restored = restore(saved, sources);
  counts.forgotten += restored.left;
  for (const [key, missing] of restored.entries.toReversed()) awaited.set(key, missing);

  return {
    counts,
    isFirst(source, text, time) {
      const place = places.get(source);
      if (place === undefined) return true;
      const hash = hashOf(withoutEnvelope(text));
      const at = Math.floor(time / period);
      if (wasAwaited(place, hash, at)) {
        counts.repeats++;
        return false;
      }
      const key = keyOf(at, hash);
      let missing = awaited.peek(key);
      if (missing === undefined) awaited.set(key, (missing = sources.map(() => 0)));
      for (let other = 0; other < missing.length; other++) if (other !== place) (missing[other] as number)++;
      return true;
    },
    state() {
      const all = [...awaited.entries()].filter(isAwaited);
      const left = all.slice(maxSaved).reduce((sum, [, missing]) => sum + Math.max(...missing), 0);
      return { sources: [...sources], awaited: all.slice(0, maxSaved), left };
    },
  };

  /** The earliest first: each source shows its lines in the order they were logged. */
  function wasAwaited(place: number, hash: string, at: number): boolean {
    for (let near = at - 2; near <= at + 2; near++) {
      const key = keyOf(near, hash);
      const missing = awaited.peek(key);
      if (missing === undefined || missing[place] === 0) continue;
      (missing[place] as number)--;
      return true;
    }
    return false;
  }
}

function keyOf(period: number, hash: string): string {
  return `${period}.${hash}`;
}

type Entry = [key: string, missing: number[]];

/** `left`: lines that there was no room for. The latest entry comes first, as it was saved. A source that is new waits for nothing. */
function restore(saved: Json | undefined, sources: readonly string[]): { left: number; entries: Entry[] } {
  const { sources: names, awaited, left } = (saved ?? {}) as Readonly<Record<string, Json>>;
  if (!Array.isArray(names) || !Array.isArray(awaited)) return { left: 0, entries: [] };
  const places = sources.map((source) => names.indexOf(source));
  const entries = (awaited as Json[]).flatMap((entry): Entry[] => {
    const [key, old] = Array.isArray(entry) ? (entry as Json[]) : [];
    if (typeof key !== 'string' || !Array.isArray(old)) return [];
    const missing = places.map((place) => countOf((old as Json[])[place]));
    return [[key, missing] as Entry].filter(isAwaited);
  });
  return { left: countOf(left), entries };
}

function countOf(value: Json | undefined): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

function isAwaited([, missing]: Entry): boolean {
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
function hashOf(text: string): string {
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
  return (4_294_967_296 * (2_097_151 & high) + (low >>> 0)).toString(36);
}
