import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../telemetry/logger.ts';
import { ConfigError } from './config-error.ts';
import type { LoadedConfig } from './config.ts';
import { settingNames, settingOf } from './settings.ts';
import type { Config, SettingName } from './schema.ts';

/** Follows the config file while the agent runs. */
export interface Reload {
  /** To be called every few seconds. Throws nothing. */
  look: () => void;
  /** Changes of the file that are followed, and that are refused. */
  readonly counts: Readonly<Record<'ok' | 'failed', number>>;
  /** What the file says holds, or there is none. False: it is wrong, cannot be read, or needs a restart. */
  readonly inForce: boolean;
}

export interface ReloadOptions {
  reading: LoadedConfig;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Follows what can be changed; all else is as it was at the start. */
  apply: (config: Config) => void;
}

/**
 * A change is taken when two looks in a row have seen the same text, so that a file is not read while it is written. Each text is
 * judged, and spoken of, once. What is wrong changes nothing.
 */
export function createReload({ reading, log, apply }: ReloadOptions): Reload {
  const { file } = reading;
  const counts = { ok: 0, failed: 0 };
  let running = reading.config;
  let judged = file?.text;
  let seen = judged;
  /** Why the file could not be read at the last look. */
  let missing: string | undefined;
  /** All that the text judged last says is followed. */
  let followed = true;

  return {
    look,
    counts,
    get inForce() {
      return followed && missing === undefined;
    },
  };

  function look(): void {
    if (file === undefined) return;
    let text: string;
    try {
      text = file.readAgain();
    } catch (error) {
      return unreadable((error as Error).message);
    }
    if (missing !== undefined) log.info({ file: file.path }, 'The config file can be read again');
    missing = undefined;
    const isSettled = text === seen;
    seen = text;
    if (!isSettled || text === judged) return;
    judged = text;
    judge(text);
  }

  function unreadable(reason: string): void {
    if (missing === reason) return;
    missing = reason;
    counts.failed++;
    log.error({ file: file?.path, reason }, `The config file ${reason}: the settings stay as they are`);
  }

  function judge(text: string): void {
    let next: Config;
    try {
      next = (file?.understand(text) ?? reading).config;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      counts.failed++;
      followed = false;
      log.error(
        { file: file?.path, problems: error.problems },
        'The config file has changed and is wrong: the settings stay as they are',
      );
      return;
    }
    counts.ok++;
    const changed = settingNames.filter((name) => !isDeepStrictEqual(next[name], running[name]));
    const live = changed.filter((name) => settingOf(name).reload);
    const later = changed.filter((name) => !settingOf(name).reload);
    followed = later.length === 0;
    if (live.length > 0) {
      running = Object.freeze({ ...running, ...pick(next, live) });
      apply(running);
    }
    log.info(
      { file: file?.path, settings: live },
      live.length > 0
        ? 'Settings have changed'
        : 'The config file has changed, but no setting that is followed at once',
    );
    if (later.length > 0)
      log.warn({ file: file?.path, settings: later }, `Changed, but needs a restart: ${later.join(', ')}`);
  }
}

function pick(config: Config, names: readonly SettingName[]): Partial<Config> {
  return Object.fromEntries(names.map((name) => [name, config[name]]));
}
