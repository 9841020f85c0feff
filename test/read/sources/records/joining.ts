import {
  type ContainerCounts,
  type ContainerRecords,
  createContainerRecords,
} from '../../../../src/read/sources/records/container-records.ts';
import type { RecordLine } from '../../../../src/read/sources/records/joiner.ts';
import type { JsonValue } from '../../../../src/read/sources/source.ts';
import { type FakeTime, fakeTime } from '../fake-time.ts';

export interface PhysicalLine {
  /** Undefined if something other than a container runtime wrote the line. */
  stream: 'stdout' | 'stderr' | undefined;
  partial: boolean;
  text: string;
}

export interface Joining {
  time: FakeTime;
  records: RecordLine[];
  readonly counts: ContainerCounts;
  readonly position: JsonValue;
  /** Hands over the next physical lines. */
  read: (count: number) => void;
  /** Stops, at once or after the given number of records, and continues from the position. */
  restart: () => void;
  stopAfter: (records: number) => void;
  finish: () => void;
}

const noon = Date.UTC(2026, 10, 21, 12);

/** A container's log of these lines, and the joiner of its records. */
export function join(physical: readonly PhysicalLine[]): Joining {
  const time = fakeTime(noon);
  const records: RecordLine[] = [];
  let joiner: ContainerRecords;
  let next = 0;
  let left = Infinity;
  begin(undefined);

  return {
    time,
    records,
    get counts() {
      return joiner.counts;
    },
    get position() {
      return joiner.position;
    },
    read(count) {
      for (const line of physical.slice(next, next + count)) {
        joiner.take(written(line, next), ++next);
        if (left <= 0) restart();
      }
    },
    restart,
    stopAfter(count) {
      left = count;
    },
    finish: () => joiner.finish(),
  };

  function begin(saved: JsonValue | undefined): void {
    left = Infinity;
    joiner = createContainerRecords({
      saved,
      onRecord(record) {
        records.push(record);
        if (--left <= 0) joiner.stop();
      },
      timing: time,
    });
    joiner.start();
  }

  function restart(): void {
    joiner.stop();
    begin(JSON.parse(JSON.stringify(joiner.position)) as JsonValue);
  }
}

function written({ stream, partial, text }: PhysicalLine, index: number): string {
  const stamp = new Date(noon + index).toISOString();
  return stream === undefined ? text : `${stamp} ${stream} ${partial ? 'P' : 'F'} ${text}`;
}

/** Joins the lines as if nothing took too long and nothing was too long: slow and obvious. */
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
