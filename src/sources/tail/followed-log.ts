import type { Notice, Position, Timing } from '../source.ts';
import type { ScannerOptions } from '../framing/scanner.ts';
import type { OpenContent } from './content.ts';

export interface RotatedLogOptions {
  path: string;
  /** As in `createScanner`; undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  /** `position` of an earlier log of this path. */
  saved: Position | undefined;
  /** Where to begin when there is no such position. A file that comes into being later is read from its start. */
  from: 'start' | 'end';
  /** As in `createScanner`; lines are numbered in their file, from where reading began. */
  onLine: ScannerOptions['onLine'];
  /** Bytes that were lost before they could be read; undefined when only the fact is known. `reason` begins with the path. */
  onLost: (bytes: number | undefined, reason: string) => void;
  onNotice: (notice: Notice) => void;
  timing?: Timing;
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
