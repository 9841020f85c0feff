import type { Millis } from '../../model/log-line.ts';
import type { Schedule } from '../../platform/schedule.ts';
import type { Notice, Position } from '../source.ts';
import type { OpenContent } from './content.ts';

/** Where a line begins. */
export interface LinePlace {
  /** Number of the file, in the order in which this log began to read its files. */
  file: number;
  /** In bytes. */
  offset: number;
}

export interface RotatedLogOptions {
  path: string;
  /** As in `createScanner`; undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  /** `position` of an earlier log of this path. */
  saved: Position | undefined;
  /** Where to begin when there is no such position. A file that comes into being later is read from its start. */
  from: 'start' | 'end';
  /**
   * `text` is latin1, one character a byte, without its newline. `cut`: its end was never written. `number`: of the line in its
   * file, counted from where reading began.
   */
  onLine: (text: string, place: LinePlace, cut: boolean, number: number) => void;
  /** Bytes that were lost before they could be read; undefined when only the fact is known. `reason` begins with the path. */
  onLost: (bytes: number | undefined, reason: string) => void;
  onNotice: (notice: Notice) => void;
  /**
   * Lines that were handed over but are not taken yet, because they wait for others: `position` stays before them, and after
   * a restart they are handed over again, with all that came after them in their file.
   */
  undelivered?: () => Iterable<LinePlace>;
  now?: () => Millis;
  schedule?: Schedule;
  openContent?: OpenContent;
}

/** Follows one path through all the files that stand there one after the other. */
export interface RotatedLog {
  readonly state: 'waiting' | 'reading' | 'failed' | 'stopped';
  readonly position: Position | undefined;
  readonly counts: Readonly<{ lines: number; bytes: number; tooLong: number }>;
  /** Everything that is there has been read. */
  readonly atEnd: boolean;
  start: () => void;
  stop: () => void;
}
