/** Milliseconds since the Unix epoch. They may have a fraction. */
export type Millis = number;

/** The part of a stamp that is missing and guessed. A stamp without a year also has no zone. */
export type MissingInStamp = 'zone' | 'year';

/** The container that wrote a line, as far as a path or the record around the line names it. */
export interface LogContainer {
  namespace?: string | undefined;
  pod?: string | undefined;
  container?: string | undefined;
}

/** One logical record of a log, without its envelope (time stamp, host name, JSON, …). Plain data: JSON reads it back unchanged. */
export interface LogLine {
  /** The path of the log, or `-` for standard input. */
  source: string;
  /** The number of the first physical line, counted from 1. */
  line: number;
  /** The message itself. For a netfilter line: the LOG prefix and everything after it. */
  text: string;
  time: Millis;
  /** False if the envelope had no wall-clock time, so that `time` was inferred. */
  timeIsExact: boolean;
  /** In saved logs: the missing part of the stamp. */
  timeLacks?: MissingInStamp | undefined;
  /** The host name in the envelope; undefined without one. */
  host: string | undefined;
  /** The program that wrote the line according to a syslog: `kube-proxy`. */
  program?: string | undefined;
  /** Set if the line is a container's and `source` does not say so. */
  container?: LogContainer | undefined;
}
