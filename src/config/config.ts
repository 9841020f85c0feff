import manifest from '../../package.json' with { type: 'json' };
import { readConfigText } from './file-text.ts';
import type { Flags } from './layer.ts';
import { readAll, type LoadedConfig, readUsable, type Usable } from './loaded-config.ts';
import type { Config } from './types.ts';

export { ConfigError } from './config-error.ts';
export type { ConfigFile, LoadedConfig, Usable } from './loaded-config.ts';
export { settings } from './settings.ts';
export type { Config, SourceSetting } from './types.ts';

export const version: string = manifest.version;

/**
 * `flags`: values by name of the flag. Reads the config file if one is named. Throws a `ConfigError` that lists all that is
 * wrong, each with the place it is from.
 */
export function readSettings(flags: Flags, env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  return readAll({ flags, env, readText: readConfigText });
}

/** As much as can be used, with what is wrong. Throws a `ConfigError` that lists what is wrong with `flags`. */
export function readUsableSettings(flags: Flags, env: NodeJS.ProcessEnv = process.env): Usable {
  return readUsable({ flags, env, readText: readConfigText });
}

/** The settings alone. */
export function readConfig(flags: Flags, env: NodeJS.ProcessEnv = process.env): Config {
  return readSettings(flags, env).config;
}

/** Where programs are, as in the environment. */
export function searchPath(env: NodeJS.ProcessEnv = process.env): string {
  return env['PATH'] ?? '';
}

/**
 * For whoever has to hand it on. Not `env` of `node:process`: importing that module looks at standard input, too, which makes a
 * pipe there one that cannot be read as a file.
 */
export function environment(): NodeJS.ProcessEnv {
  return process.env;
}
