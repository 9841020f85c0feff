/** One record of a log, as a source hands it to the pipeline. Plain data: it can be written as JSON and read back unchanged. */

/** Milliseconds since the Unix epoch; may have a fraction. */
export type Millis = number;

/** One logical record of a log, with the envelope (time stamp, host name, JSON, …) taken off. */
export interface LogLine {
  /** The path that was read, or `-` for standard input. */
  source: string;
  /** 1-based number of the (first) physical line. */
  line: number;
  /** The message proper: for a netfilter line, the LOG prefix and all that follows. */
  text: string;
  time: Millis;
  /** False when the envelope held no wall-clock time and `time` was inferred. */
  timeIsExact: boolean;
  /** The host name in the envelope, if it had one. */
  host: string | undefined;
  /** The program that a syslog says has written it: `kube-proxy`. */
  program?: string | undefined;
}
