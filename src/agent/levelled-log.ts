import { createLogger, type Log, type LoggerOptions, type LogLevel, type Write } from '../telemetry/logger.ts';

export interface LevelledLog {
  /** Stays the same, whatever the level is. */
  log: Log;
  /** Holds for all that is logged a moment later. */
  setLevel: (level: LogLevel) => void;
}

/** A log whose level can change while others hold it. */
export async function createLevelledLog(options: LoggerOptions): Promise<LevelledLog> {
  let { level } = options;
  let current = await createLogger(options);

  return {
    log: { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') },
    setLevel(next) {
      if (next === level) return;
      level = next;
      void change(next);
    },
  };

  /** Should two follow each other, the later one holds, whichever is ready first. */
  async function change(next: LogLevel): Promise<void> {
    const made = await createLogger({ ...options, level: next });
    if (level === next) current = made;
  }

  function writer(name: LogLevel): Write {
    return (...said: [unknown, string?]) => (current[name] as (...all: unknown[]) => void)(...said);
  }
}
