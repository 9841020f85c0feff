import { createLogicalLines, type LogicalLine, type LogicalLines } from '../../../src/sources/kubelet/logical-lines.ts';
import type { LogicalLineCounts } from '../../../src/sources/kubelet/stream-records.ts';
import type { Json } from '../../../src/sources/source.ts';
import { type FakeTime, fakeTime } from '../fake-time.ts';

export interface PhysicalLine {
  /** Undefined: written by something else than a container runtime. */
  stream: 'stdout' | 'stderr' | undefined;
  partial: boolean;
  text: string;
  /** It is the first of a new file. */
  rotated: boolean;
}

export interface Joining {
  time: FakeTime;
  lines: LogicalLine[];
  readonly counts: LogicalLineCounts;
  readonly undelivered: string[];
  /** Hands over the next physical lines that were written; returns false if there is none. */
  read: (count: number) => boolean;
  /** Stops, now or when the given number of logical lines has come, and goes on from the position. */
  restart: () => void;
  stopAfter: (lines: number) => void;
  flush: () => void;
}

interface Written {
  raw: string;
  file: number;
  offset: number;
  number: number;
}

const noon = Date.UTC(2026, 10, 21, 12);

/** A log of these lines, and who joins them. Files get other numbers at each restart. */
export function join(physical: readonly PhysicalLine[]): Joining {
  const time = fakeTime(noon);
  const lines: LogicalLine[] = [];
  const written = write(physical);
  let joiner: LogicalLines;
  let queue: Written[] = written;
  let numbers = new Map<number, number>();
  let left = Infinity;
  begin(undefined);

  return {
    time,
    lines,
    get counts() {
      return joiner.counts;
    },
    get undelivered() {
      return Array.from(joiner.undelivered(), ({ file, offset }) => `${file}:${offset}`);
    },
    read(count) {
      for (let i = 0; i < count; i++) {
        const next = queue.shift();
        if (next === undefined) return false;
        const file = numbers.get(next.file) ?? numbers.size + 1;
        numbers.set(next.file, file);
        joiner.take(next.raw, { file, offset: next.offset }, next.number);
        if (left <= 0) restart();
      }
      return queue.length > 0;
    },
    restart,
    stopAfter(count) {
      left = count;
    },
    flush: () => joiner.flush(),
  };

  function begin(saved: Json | undefined): void {
    queue = [...queue];
    left = Infinity;
    joiner = createLogicalLines({
      saved,
      onLine(line) {
        lines.push(line);
        if (--left <= 0) joiner.stop();
      },
      now: time.now,
      schedule: time.schedule,
    });
  }

  function restart(): void {
    joiner.stop();
    const saved = JSON.parse(JSON.stringify(joiner.position)) as Json;
    const first = new Map<number, number>();
    for (const { file, offset } of joiner.undelivered()) first.set(file, Math.min(offset, first.get(file) ?? offset));
    const unread = new Set(queue);
    // In its file each line behind the first one that is undelivered comes again.
    queue = written.filter(
      (line) => unread.has(line) || line.offset >= (first.get(numbers.get(line.file) ?? -1) ?? Infinity),
    );
    numbers = new Map();
    begin(saved);
  }
}

function write(physical: readonly PhysicalLine[]): Written[] {
  let file = 0;
  let offset = 0;
  return physical.map(({ stream, partial, text, rotated }, index) => {
    if (rotated) {
      file++;
      offset = 0;
    }
    const stamp = new Date(noon + index).toISOString();
    const raw = stream === undefined ? text : `${stamp} ${stream} ${partial ? 'P' : 'F'} ${text}`;
    const line = { raw, file, offset, number: index + 1 };
    offset += raw.length + 1;
    return line;
  });
}

/** What is to come of them if nothing takes too long and nothing is too long: slow, and obvious. */
export function joinedByTheBook(physical: readonly PhysicalLine[]): { number: number; text: string }[] {
  const results: { number: number; text: string }[] = [];
  for (const stream of ['stdout', 'stderr', undefined] as const) {
    const whole: { number: number; text: string }[] = [];
    let isOpen = false;
    for (const [index, line] of physical.entries()) {
      if (line.stream !== stream) continue;
      if (isOpen) (whole.at(-1) as { text: string }).text += line.text;
      else whole.push({ number: index + 1, text: line.text });
      isOpen = line.partial && stream !== undefined;
    }
    let kind = 'none';
    for (const line of whole) {
      const isKlog = /^[IWEF]\d{4} /.test(line.text);
      const isHeader = isKlog || /^(\{|bird|\d{4}-)/.test(line.text);
      const isMore = !isHeader && (kind === 'klog' || (kind === 'other' && /^[ \t]/.test(line.text)));
      if (isMore && stream !== undefined) {
        (results.at(-1) as { text: string }).text += `\n${line.text}`;
        if (kind === 'klog' && line.text.startsWith(' > ') && !line.text.endsWith('=<')) kind = 'none';
        continue;
      }
      results.push(line);
      kind = isKlog ? 'klog' : 'other';
    }
  }
  return results.toSorted((a, b) => a.number - b.number);
}
