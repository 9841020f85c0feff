import { pino } from 'pino';
import { printable, printableJson } from '../platform/printable.ts';
import { writeAll } from '../platform/write-all.ts';

/** The levels from the most important to the most detailed. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Further fields of a line, for machines. An Error belongs in `error`. The names that every line has are taken. */
export type Fields = Readonly<Record<string, unknown>> & {
  readonly level?: never;
  readonly time?: never;
  readonly node?: never;
  readonly msg?: never;
};

export interface Write {
  (text: string): void;
  (fields: Fields, text: string): void;
}

/** The program's own log. Lines are written before the call returns; nothing it does throws. */
export type Log = Readonly<Record<LogLevel, Write>>;

/** A change of the level holds for all who have the log. */
export type AdjustableLog = Log & { level: LogLevel };

export interface LoggerOptions {
  level: LogLevel;
  /** Lines for a person rather than JSON. */
  terminal: boolean;
  /** The node that the program runs on: a field of every line. */
  node?: string | undefined;
  /** Takes a line with its end; standard output by default. */
  write?: ((line: string) => void) | undefined;
}

/** JSON, one object a line: `{"level":"info","time":"2026-11-21T09:00:00.000Z","node":"node-a",…,"msg":"…"}`. */
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
    // Pino's own stream is not used: while a pipe stays full it calls itself every 100 ms, until the stack overflows.
    {
      write(line) {
        try {
          write(format(line));
        } catch {
          // Its reader is gone, or a disk is full: there is nowhere to report that.
        }
      },
    },
  );
  return log as AdjustableLog;
}

/** Loads the formatter here alone, so that it costs no memory in a Pod. */
async function loadFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  // The formatter alone: the stream around it would write later, and lose lines when the process ends.
  const format = prettyFactory({ ignore: 'node', translateTime: 'SYS:HH:MM:ss', singleLine: true });
  // It takes off control characters of ASCII, and no other: an escape is one of its own, for colours.
  return (line) => format(line)?.replace(/(?![\n\t\x1b])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, printable) ?? '';
}

function toStandardOutput(line: string): void {
  writeAll(1, line);
}

/** Characters of a message. */
const longest = 1000;
/** Causes of causes; a chain may be a circle. */
const deepest = 4;

/** Anything may be thrown. Objects that are no errors are left as they are. */
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

/** A connection refused on every address of a host is an AggregateError that says nothing itself. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}
