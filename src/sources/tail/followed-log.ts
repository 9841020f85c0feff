import type { LineSink } from '../framing/scanner.ts';
import type { Position, Source, SourceListener, Timing } from '../source.ts';
import type { OpenContent } from './content.ts';

export interface RotatedLogOptions {
  path: string;
  /** The same as in `createScanner`; undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  saved: Position | undefined;
  /** The start if no position is saved. A file that appears later is read from its start. */
  from: 'start' | 'end';
  /** Lines are numbered in their file, from where reading began. */
  lines: Omit<LineSink, 'tooLong'>;
  listener: Pick<SourceListener, 'lost' | 'notice'>;
  timing?: Timing;
  openContent?: OpenContent;
}

/** Follows one path through all the files that stand there one after the other. */
export interface RotatedLog extends Source {
  readonly atEnd: boolean;
}
