/** Follows the config file while the agent runs. */
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../telemetry/logger.ts';
import { type Config, ConfigError, type LoadedConfig } from './config.ts';
import { settingNames, settingOf } from './settings.ts';

export type Reload = ReturnType<typeof createReload>;

export interface ReloadOptions {
  loaded: LoadedConfig;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Called with the new settings. Only settings that can change without a restart are different. */
  apply: (config: Config) => void;
}

/** Follows a change only after two readings of the same text, because the file may be half written. A wrong text is logged once and ignored. */
export function createReload({ loaded, log, apply }: ReloadOptions) {
  const { file } = loaded;
  /** `ok`: changes of the file that were followed. `failed`: changes that were refused, and failures to read the file. */
  const counts = { ok: 0, failed: 0 };
  let running = loaded.config;
  let judged = file?.text;
  let seen = judged;
  /** Why the file could not be read the last time; undefined if it could. */
  let unreadable: string | undefined;
  /** Whether all settings of the latest checked text are in force. */
  let followed = true;

  return {
    look,
    counts,
    /** False while the file is wrong, cannot be read, or needs a restart. */
    get inForce(): boolean {
      return followed && unreadable === undefined;
    },
  };

  /** Reads the file again. Call it every few seconds. */
  function look(): void {
    if (file === undefined) return;
    let text;
    try {
      text = file.readAgain();
    } catch (error) {
      const reason = (error as Error).message;
      if (unreadable === reason) return;
      unreadable = reason;
      counts.failed++;
      return log.error({ file: file.path, reason }, `The config file ${reason}: the settings stay as they are`);
    }
    if (unreadable !== undefined) log.info({ file: file.path }, 'The config file can be read again');
    unreadable = undefined;
    const isSettled = text === seen;
    seen = text;
    if (!isSettled || text === judged) return;
    judged = text;
    try {
      follow(file.understand(text).config, file.path);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      counts.failed++;
      followed = false;
      const message = 'The config file has changed and is wrong: the settings stay as they are';
      log.error({ file: file.path, problems: error.problems }, message);
    }
  }

  function follow(next: Config, path: string): void {
    counts.ok++;
    const changed = settingNames.filter((name) => !isDeepStrictEqual(next[name], running[name]));
    const live = changed.filter((name) => settingOf(name).reload);
    const later = changed.filter((name) => !settingOf(name).reload);
    followed = later.length === 0;
    if (live.length > 0) {
      running = Object.freeze({ ...running, ...Object.fromEntries(live.map((name) => [name, next[name]])) });
      apply(running);
    }
    const nothing = 'The config file has changed, but no setting that is followed at once';
    log.info({ file: path, settings: live }, live.length > 0 ? 'Settings have changed' : nothing);
    if (later.length > 0)
      log.warn({ file: path, settings: later }, `Changed, but needs a restart: ${later.join(', ')}`);
  }
}
