import { decodeText, readContainerRecord } from '../../../base/log-formats/container-log.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { JsonValue, Position, Timing } from '../source.ts';
import { createRecordJoiner, type JoinerCounts, type RecordLine } from './joiner.ts';

export interface ContainerRecordsOptions {
  saved: JsonValue | undefined;
  /** The text is decoded. The number is that of the record's first line. */
  onRecord: (record: RecordLine) => void;
  /** Reads lines without a container runtime's stamp, until the first line with one. Default: each such line is a record. */
  readBare?: (line: string) => Pick<RecordLine, 'text' | 'time'>;
  timeout?: Millis | undefined;
  timing: Omit<Timing, 'wall'>;
}

export interface ContainerCounts extends JoinerCounts {
  unreadable: number;
}

export interface ContainerRecords {
  counts: Readonly<ContainerCounts>;
  /** The lines that wait. Save it together with the position after the last line that was taken. */
  readonly position: JsonValue;
  take: (line: string, number: number) => void;
  start: () => void;
  finish: () => void;
  stop: () => void;
}

/**
 * Joins the lines of each stream separately. Records of one stream come in order. Records of the two streams may not, because each waits
 * for the next line of its stream, or until its time is over (`createRecordJoiner`); programs write what belongs together to one stream.
 */
export function createContainerRecords({
  onRecord,
  readBare,
  timeout,
  timing,
  ...options
}: ContainerRecordsOptions): ContainerRecords {
  const saved = (options.saved ?? {}) as Position;
  const counts = { unreadable: 0, cut: 0, dangling: 0 };
  const joinerOf = (name: string) =>
    createRecordJoiner({ saved: saved[name], onRecord: deliver, timeout, timing, counts });
  const streams = { stdout: joinerOf('stdout'), stderr: joinerOf('stderr'), bare: joinerOf('bare') };
  const joiners = Object.values(streams);
  let isOfRuntime = readBare === undefined;

  return {
    counts: counts,
    get position(): JsonValue {
      if (!joiners.some(({ isOpen }) => isOpen)) return null;
      return Object.fromEntries(Object.entries(streams).map(([name, { position }]) => [name, position]));
    },
    take(this: void, line: string, number: number): void {
      const record = readContainerRecord(line);
      isOfRuntime ||= record !== undefined;
      if (record !== undefined) {
        const { text, time, stream, partial } = record;
        streams[stream].take({ text, time, number }, partial, true);
        for (const joiner of joiners) joiner.finishBefore(time);
      } else if (!isOfRuntime && readBare !== undefined) {
        streams.bare.take({ ...readBare(line), number }, false, true);
      } else {
        counts.unreadable++;
        deliver({ text: line, time: undefined, number });
      }
    },
    start: (): void => joiners.forEach((joiner) => joiner.start()),
    finish: (): void => joiners.forEach((joiner) => joiner.finish()),
    stop: (): void => joiners.forEach((joiner) => joiner.stop()),
  };

  function deliver({ text, time, number }: RecordLine): void {
    onRecord({ text: decodeText(text), time, number });
  }
}
