import type { Millis } from '../../model/log-line.ts';
import type { LinePlace } from '../tail/followed-log.ts';
import type { Json } from '../source.ts';
import type { Stream } from '../../log-formats/cri.ts';

/** Physical lines of one file that belong together, by where the first and the last of them begin. */
export interface Span {
  file: number;
  first: number;
  last: number;
  /** Of the last. */
  time: Millis;
}

/** Nothing waits for so long that more files than that have come since. */
const maxFiles = 8;

/** Lines of one stream that lie after a saved position, though they were delivered. */
type Stretch = { stream: Stream; from: number; to: number; time: Millis };

/**
 * Remembers what was delivered although it stands behind lines that were not: streams are interleaved in the file, and a
 * record may go on behind the beginning of one that is still waited for.
 */
export interface Delivered {
  add: (stream: Stream, spans: readonly Span[]) => void;
  /** Whether an earlier run has delivered it. Lines of each stream have to be asked about in order. */
  has: (stream: Stream, place: LinePlace, time: Millis) => boolean;
  /** What `saved` is to be next time. `waiting`: of all records that are not delivered. */
  save: (waiting: Iterable<Span>) => Json[];
  /** Nothing waits: positions are behind everything. */
  forget: () => void;
}

export function createDelivered(saved: Json | undefined): Delivered {
  let earlier: readonly Stretch[] = Array.isArray(saved) ? saved.filter(isStretch) : [];
  const last = { stdout: new Map<number, Span>(), stderr: new Map<number, Span>() };

  return {
    add,
    has(stream, { file, offset }, time) {
      if (earlier.length === 0) return false;
      // The time stands for the file, which after a restart may have another number.
      if (earlier.some((stretch) => stretch.stream === stream && isWithin(stretch, offset, time))) {
        add(stream, [{ file, first: offset, last: offset, time }]);
        return true;
      }
      earlier = earlier.filter((stretch) => stretch.stream !== stream || time <= stretch.time);
      return false;
    },
    save(waiting) {
      const firsts = new Map<number, number>();
      for (const { file, first } of waiting) firsts.set(file, Math.min(first, firsts.get(file) ?? first));
      const stretches: Stretch[] = [...earlier];
      for (const stream of ['stdout', 'stderr'] as const) {
        for (const [file, { last: to, time }] of last[stream]) {
          const from = firsts.get(file);
          if (from !== undefined && from < to) stretches.push({ stream, from, to, time });
        }
      }
      return stretches;
    },
    forget() {
      last.stdout.clear();
      last.stderr.clear();
    },
  };
  function add(stream: Stream, spans: readonly Span[]): void {
    const files = last[stream];
    for (const span of spans) files.set(span.file, span);
    for (const file of files.keys()) if (files.size > maxFiles) files.delete(file);
  }
}

function isWithin({ from, to, time: latest }: Stretch, offset: number, time: Millis): boolean {
  return from <= offset && offset <= to && time <= latest;
}

function isStretch(value: unknown): value is Stretch {
  const { stream, from, to, time } = (value ?? {}) as Partial<Record<keyof Stretch, unknown>>;
  const isStream = stream === 'stdout' || stream === 'stderr';
  return isStream && typeof from === 'number' && typeof to === 'number' && typeof time === 'number';
}
