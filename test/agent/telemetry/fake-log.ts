import {
  type LogFields,
  type Log,
  logLevels,
  type LogLevel,
  type LogWriter,
} from '../../../src/agent/telemetry/logger.ts';

export interface LogEntry {
  level: LogLevel;
  text: string;
  fields: Record<string, unknown>;
}

/** A log that remembers. */
export function fakeLog(): { log: Log; entries: LogEntry[] } {
  const entries: LogEntry[] = [];
  const writeAt =
    (level: LogLevel): LogWriter =>
    (first: LogFields | string, text?: string) => {
      if (typeof first === 'string') entries.push({ level, text: first, fields: {} });
      else entries.push({ level, text: text ?? '', fields: { ...first } });
    };
  const log = Object.fromEntries(logLevels.map((level) => [level, writeAt(level)])) as Record<LogLevel, LogWriter>;
  return { log, entries };
}
