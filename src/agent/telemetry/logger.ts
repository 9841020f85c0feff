import { pino } from 'pino';
import type { Millis } from '../../base/model/log-line.ts';
import { printable, printableJson } from '../../base/platform/printable.ts';
import { writeAll } from '../../base/platform/file-io.ts';

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Fields of a log line. An Error goes into `error`. The names of fields that every line has are not allowed. */
export type LogFields = Readonly<Record<string, unknown>> & {
  readonly level?: never;
  readonly time?: never;
  readonly node?: never;
  readonly msg?: never;
};

export interface LogWriter {
  (text: string): void;
  (fields: LogFields, text: string): void;
}

/** The program's own log. A call returns after its line is written, and never throws. */
export type Log = Readonly<Record<LogLevel, LogWriter>>;

export type AdjustableLog = Log & { level: LogLevel };

export interface LoggerOptions {
  level: LogLevel;
  terminal: boolean;
  node?: string | undefined;
  /** Each line ends with a newline. */
  write?: ((line: string) => void) | undefined;
}

/** Logs JSON, one object a line: `{"level":"info","time":"2026-11-21T09:00:00.000Z","node":"node-a",…,"msg":"…"}`. */
export async function createLogger({
  level: first,
  terminal,
  node,
  write = toStandardOutput,
}: LoggerOptions): Promise<AdjustableLog> {
  const format = terminal ? await loadFormat() : printableJson;
  const log = pino(
    {
      level: first,
      base: node === undefined ? {} : { node },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      errorKey: 'error',
      serializers: { error: (error: unknown) => errorFields(error, log.level === 'debug') },
    },
    // Do not use Pino's own stream: while a pipe is full, it calls itself every 100 ms until the stack overflows.
    {
      write(line) {
        try {
          write(format(line));
        } catch {
          // The reader of the log is gone or a disk is full, and there is nowhere to report that.
        }
      },
    },
  );
  return log as AdjustableLog;
}

/** Loads the formatter only if it is needed, so that it costs no memory in a Pod. */
async function loadFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  // Only the formatter is used, because the stream of pino-pretty writes later, and loses lines at the end of the process.
  const format = prettyFactory({ ignore: 'node', translateTime: 'SYS:HH:MM:ss', singleLine: true });
  // The formatter removes only ASCII control characters, and keeps escapes, because it uses them for colours.
  return (line) =>
    format(line)?.replace(
      /(?![\n\t\x1b])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu,
      printable,
    ) ?? '';
}

function toStandardOutput(line: string): void {
  writeAll(1, line);
}

const longest = 1000;
/** The most nested causes that are logged, because a chain may be circular. */
const deepest = 4;

export function errorFields(error: unknown, withStack: boolean, depth = 0): unknown {
  if (!(error instanceof Error))
    return typeof error === 'object' && error !== null ? error : { message: String(error).slice(0, longest) };
  const { code, cause, stack } = error as NodeJS.ErrnoException;
  return {
    message: messageOf(error).slice(0, longest),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && depth < deepest && { cause: errorFields(cause, withStack, depth + 1) }),
    ...(withStack && stack !== undefined && { stack }),
  };
}

/** An AggregateError (a connection refused on every address) has an empty message, so the messages of its errors are joined. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}

export interface RateLimitedLog {
  report: (level: 'error' | 'warn' | 'info', key: string, fields: LogFields, text: string) => void;
  /** Returns whether the problem had been reported. */
  resolve: (key: string, text: string) => boolean;
  /** Returns, by key, the number of reports since the last call that were not logged. */
  takeCounts: () => Record<string, number>;
}

interface Problem {
  logged: Millis;
  repeated: number;
  uncounted: number;
  total: number;
}

const pause: Millis = 3_600_000;
const limit = 256;
const others = 'other problems';

/** Logs each problem once an hour, because it may happen a thousand times a second. Past 256 keys, all further problems share one. */
export function createRateLimitedLog(log: Log, { now }: { now: () => Millis }): RateLimitedLog {
  const known = new Map<string, Problem>();

  return {
    report,
    resolve(this: void, key: string, text: string): boolean {
      const problem = known.get(key);
      if (problem === undefined) return false;
      known.delete(key);
      log.info({ problem: key, reports: problem.total }, text);
      return true;
    },
    takeCounts(this: void): Record<string, number> {
      const counts: Record<string, number> = {};
      for (const [key, problem] of known) {
        if (problem.uncounted > 0) counts[key] = problem.uncounted;
        problem.uncounted = 0;
      }
      return counts;
    },
  };

  function report(level: 'error' | 'warn' | 'info', key: string, fields: LogFields, text: string): void {
    const problem = known.get(key);
    if (problem === undefined && key !== others && isFull())
      return report(
        'warn',
        others,
        { example: key },
        `More than ${limit} different problems; the rest is only counted`,
      );
    if (problem !== undefined && !isOver(problem)) {
      problem.repeated++;
      problem.uncounted++;
      problem.total++;
      return;
    }
    known.delete(key);
    const { uncounted = 0, total = 0 } = problem ?? {};
    known.set(key, { logged: now(), repeated: 0, uncounted, total: total + 1 });
    log[level]({ problem: key, ...fields, ...(problem && { repeated: problem.repeated }) }, text);
  }

  /** Makes room if the oldest problem was logged over an hour ago. */
  function isFull(): boolean {
    if (known.size < limit + (known.has(others) ? 1 : 0)) return false;
    for (const [key, problem] of known) {
      if (key === others) continue;
      return !(isOver(problem) && known.delete(key));
    }
    return true;
  }

  function isOver({ logged }: Problem): boolean {
    return now() - logged >= pause;
  }
}
