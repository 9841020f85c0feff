import { expect } from 'vitest';
import { ConfigError } from '../../src/config/config.ts';
import { readAll, type ReadOptions, type LoadedConfig } from '../../src/config/loaded-config.ts';

export const path = '/etc/knt/settings.yaml';

/** As the program reads it when this is in its file. */
export function optionsFor(text: string, rest: Partial<ReadOptions> = {}): ReadOptions {
  return { flags: { config: path, ...rest.flags }, env: { ...rest.env }, readText: () => text };
}

export function readFileOf(text: string, rest: Partial<ReadOptions> = {}): LoadedConfig {
  return readAll(optionsFor(text, { ...rest, env: { NODE_NAME: 'node-a', ...rest.env } }));
}

/** What is wrong, without the path. */
export function problemsOf(text: string, rest: Partial<ReadOptions> = {}): string[] {
  try {
    readFileOf(text, rest);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map((problem) => problem.replace(`${path}:`, ''));
  }
  return [];
}
