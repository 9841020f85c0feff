/** A config file that changes under a running agent, and the agent's log and settings. */
import { createReload, loadConfig } from '../../../src/agent/config/config.ts';
import type { Config } from '../../../src/agent/config/settings.ts';

type Logged = [level: 'info' | 'warn' | 'error', text: string, fields: Record<string, unknown>];

/** A config file with this text. If `text` is an Error, reading the file fails. */
export function createReloadScene(
  text: string,
  { env = {}, flags = {} }: { env?: Record<string, string>; flags?: Record<string, string> } = {},
) {
  let now: string | Error = text;
  const readText = (): string => {
    if (now instanceof Error) throw now;
    return now;
  };
  const loaded = loadConfig({ flags: { config: '/f', ...flags }, env: { NODE_NAME: 'node-a', ...env }, readText });
  return {
    ...follow(loaded),
    write: (next: string | Error): void => {
      now = next;
    },
  };
}

export function follow(loaded: ReturnType<typeof loadConfig>) {
  const logged: Logged[] = [];
  const applied: Config[] = [];
  const writer = (level: Logged[0]) => (fields: unknown, line?: string) =>
    logged.push([level, line ?? '', fields as Record<string, unknown>]);
  const reload = createReload({
    loaded,
    log: { info: writer('info'), warn: writer('warn'), error: writer('error') },
    apply: (config) => applied.push(config),
  });
  return {
    logged,
    applied,
    reload,
    config: loaded.config,
    look: (times = 2): void => {
      for (let i = 0; i < times; i++) reload.look();
    },
    /** Returns the log since the last call: levels and fields, without text and file. */
    records: () => logged.splice(0).map(withoutText),
  };
}

function withoutText([level, , fields]: Logged): Record<string, unknown> {
  return { ...fields, level, file: undefined };
}
