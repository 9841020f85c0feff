import { decodeText, readRecord } from '../../log-formats/cri.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Json, Position, Timing } from '../source.ts';
import { createRecordJoiner, type JoinerCounts, type RecordJoiner, type RecordLine } from './joiner.ts';

export interface ContainerRecordsOptions {
  saved: Json | undefined;
  /** The text is decoded. The number is that of the record's first line. */
  onRecord: (record: RecordLine) => void;
  /** Reads lines without a container runtime's stamp, until the first line with one. Default: each such line is a record. */
  readBare?: (line: string) => Pick<RecordLine, 'text' | 'time'>;
  /** As in `createRecordJoiner`. */
  timeout?: Millis | undefined;
  timing: Omit<Timing, 'wall'>;
}

export interface ContainerCounts extends JoinerCounts {
  unreadable: number;
  /** Records that were handed over unfinished, because too many others waited for them. */
  hurried: number;
}

interface OrderedLine extends RecordLine {
  order: number;
}

/** The most complete records that may wait for an earlier record of the other stream. They are saved with the position. */
const maxWaiting = 1000;
const maxWaitingLength = 256 * 1024;

export type ContainerRecords = ReturnType<typeof createContainerRecords>;

/** Joins the lines of each stream separately, and hands over records in the order of their first lines. */
export function createContainerRecords(options: ContainerRecordsOptions) {
  const { onRecord, readBare } = options;
  const saved = (options.saved ?? {}) as Position;
  const counts = { unreadable: 0, cut: 0, dangling: 0, hurried: 0 };
  const streams = { stdout: joinerOf('stdout'), stderr: joinerOf('stderr'), bare: joinerOf('bare') };
  const joiners = Object.values(streams);
  const complete = (Array.isArray(saved['complete']) ? [...saved['complete']] : []) as OrderedLine[];
  let length = complete.reduce((sum, { text }) => sum + text.length, 0);
  let order = typeof saved['order'] === 'number' ? saved['order'] : 0;
  let isOfRuntime = readBare === undefined;
  let isStopped = false;

  return {
    counts: counts as Readonly<ContainerCounts>,
    /** What to save together with the position after the last line that was taken. */
    get position(): Json {
      if (complete.length === 0 && !joiners.some(({ isOpen }) => isOpen)) return null;
      const open = Object.entries(streams).map(([name, { position }]) => [name, position] as const);
      return { ...Object.fromEntries(open), complete: complete as unknown as Json, order };
    },
    take(this: void, line: string, number: number): void {
      const record = readRecord(line);
      isOfRuntime ||= record !== undefined;
      order++;
      if (record !== undefined) {
        const { text, time, stream, partial } = record;
        streams[stream].take({ text, time, number, order }, partial, true);
      } else if (!isOfRuntime && readBare !== undefined) {
        streams.bare.take({ ...readBare(line), number, order }, false, true);
      } else {
        counts.unreadable++;
        add({ text: line, time: undefined, number, order });
      }
      deliver();
    },
    start: (): void => joiners.forEach((joiner) => joiner.start()),
    finish(this: void): void {
      for (const joiner of joiners) joiner.finish();
      deliver();
    },
    stop(): void {
      isStopped = true;
      for (const joiner of joiners) joiner.stop();
    },
  };

  function joinerOf(name: string): RecordJoiner<OrderedLine> {
    const { timeout, timing } = options;
    const onComplete = (record: OrderedLine): void => {
      add(record);
      deliver();
    };
    return createRecordJoiner({ saved: saved[name], onRecord: onComplete, timeout, timing, counts });
  }

  function add(record: OrderedLine): void {
    complete.splice(complete.findLastIndex((other) => other.order < record.order) + 1, 0, record);
    length += record.text.length;
  }

  function deliver(): void {
    for (let next = nextComplete(); next !== undefined; next = nextComplete()) {
      const { order: turn } = next;
      const earlier = joiners.find(({ waiting }) => waiting !== undefined && waiting.order < turn);
      if (earlier === undefined) {
        complete.shift();
        length -= next.text.length;
        const { text, time, number } = next;
        onRecord({ text: decodeText(text), time, number });
      } else if (complete.length >= maxWaiting || length > maxWaitingLength) {
        counts.hurried++;
        earlier.hurry();
      } else return;
    }
  }

  function nextComplete(): OrderedLine | undefined {
    return isStopped ? undefined : complete[0];
  }
}
