import { expect } from 'vitest';
import {
  type Config,
  ConfigError,
  type ConfigInputs,
  loadConfig,
  type LoadedConfig,
} from '../../../src/agent/config/config.ts';
import type { Flags } from '../../../src/agent/config/layer.ts';

export const path = '/etc/knt/settings.yaml';

/** The settings from options and environment, without a file. */
export function readConfig(flags: Flags, env: NodeJS.ProcessEnv): Config {
  return loadConfig({ flags, env }).config;
}

/** Returns what settings are loaded from when the config file has this text. */
export function optionsFor(text: string, rest: Partial<ConfigInputs> = {}): ConfigInputs {
  return { flags: { config: path, ...rest.flags }, env: { ...rest.env }, readText: () => text };
}

export function readFileOf(text: string, rest: Partial<ConfigInputs> = {}): LoadedConfig {
  return loadConfig(optionsFor(text, { ...rest, env: { NODE_NAME: 'node-a', ...rest.env } }));
}

/** Returns the problems, without the path. */
export function problemsOf(text: string, rest: Partial<ConfigInputs> = {}): string[] {
  try {
    readFileOf(text, rest);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map((problem) => problem.replace(`${path}:`, ''));
  }
  return [];
}
