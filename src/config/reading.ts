import type * as z from 'zod/mini';
import { ConfigError } from './config-error.ts';
import { layerOfFile } from './file-layer.ts';
import { inherit } from './kube-iptables-tailer.ts';
import { configPath, defaults, type Flags, type Given, type Layer, layerOfEnvironment, layerOfFlags } from './layer.ts';
import { problemWith } from './origin.ts';
import { schema } from './schema.ts';
import { configFile, settingOf } from './settings.ts';
import { type Config, type SettingName, verdicts } from './types.ts';
import { nearest, suggest } from './suggest.ts';

/** The settings that hold, and how they came about. */
export interface Reading {
  readonly config: Config;
  /** By name of the setting, as a file would have it. */
  readonly given: Layer;
  /** What works, but should be changed. */
  readonly warnings: readonly string[];
  readonly file: ConfigFile | undefined;
}

/** The file of settings, to be looked at again. */
export interface ConfigFile {
  readonly path: string;
  /** As it was read. */
  readonly text: string;
  /** As it is now. Throws an Error that says why it cannot be read. */
  readonly readAgain: () => string;
  /** All settings as they would be with this text in the file. Throws a `ConfigError`. */
  readonly understand: (text: string) => Reading;
}

export interface ReadOptions {
  flags: Flags;
  env: NodeJS.ProcessEnv;
  /** Throws an Error that says why it cannot be read. */
  readText: (path: string) => string;
  /** Holds where nobody sets anything else. */
  assumed?: Layer;
}

/**
 * Options go over variables, those over the file, that over variables of kube-iptables-tailer. Throws a `ConfigError` that lists all
 * that is wrong, each with the place it is from.
 */
export function readAll(options: ReadOptions): Reading {
  const path = configPath(options.flags, options.env);
  if (path === undefined) return combine(options, undefined);
  let text: string;
  try {
    text = options.readText(path);
  } catch (error) {
    return combine(options, { path, problem: (error as Error).message });
  }
  return combine(options, { path, text });
}

/** What is wrong with a file all by itself; what it leaves out may be set elsewhere. */
export function checkFile(path: string, readText: ReadOptions['readText']): readonly string[] {
  const assumed: Layer = { node: { value: 'node', origin: { kind: 'default' } } };
  try {
    readAll({ flags: { [configFile.flag]: path }, env: {}, readText, assumed });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

type FileGiven = { path: string; text: string } | { path: string; problem: string } | undefined;

function combine(options: ReadOptions, file: FileGiven): Reading {
  const { flags, env, readText, assumed } = options;
  const fromFile =
    file === undefined
      ? { layer: {}, problems: [], unusable: false }
      : 'problem' in file
        ? { layer: {}, problems: [() => `${file.path}: ${file.problem}`], unusable: true }
        : layerOfFile(file.text, file.path);
  const own: Layer = { ...fromFile.layer, ...layerOfEnvironment(env), ...layerOfFlags(flags) };
  const inherited = inherit(env, own);
  const given: Layer = { ...defaults, ...assumed, ...inherited.layer, ...own };

  const values = Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, value]));
  const { success, data, error } = schema.safeParse(values);
  const problems = [
    ...fromFile.problems,
    ...(error?.issues ?? [])
      // It may have been in the file that could not be understood.
      .filter(({ path: [name] }) => !fromFile.unusable || given[name as SettingName] !== undefined)
      .map((issue) => () => problemOf(issue, given)),
  ];
  if (!success || problems.length > 0) throw new ConfigError(problems);
  return {
    config: Object.freeze(data) as Config,
    given,
    warnings: inherited.warnings,
    file: file === undefined || 'problem' in file ? undefined : reread(file),
  };

  function reread({ path, text }: { path: string; text: string }): ConfigFile {
    return {
      path,
      text,
      readAgain: () => readText(path),
      understand: (changed) => combine(options, { path, text: changed }),
    };
  }
}

function problemOf({ path: [key = '', index], message }: z.core.$ZodIssue, given: Layer): string {
  const name = key as SettingName;
  const setting = settingOf(name);
  const { value, origin, items } = given[name] ?? ({ value: undefined } as Partial<Given>);
  if (origin === undefined) return `${[setting.env, `--${setting.flag}`].filter(Boolean).join(' or ')}: ${message}`;
  if (index === undefined) return problemWith(origin, value, message + hintFor(name, value));
  const item = (value as readonly unknown[])[Number(index)];
  return problemWith(items?.[Number(index)] ?? origin, item, message + hintFor(name, item));
}

const sourceKinds = ['auto', 'kernel', 'containers', 'journal'] as const;

function hintFor(name: SettingName, value: unknown): string {
  if (typeof value !== 'string') return '';
  const { choices } = settingOf(name);
  if (choices !== undefined) return suggest(value, choices);
  if (name === 'sources') return suggest(value, sourceKinds);
  const [, prefix, given = ''] = /^(.{1,80})=(\w+)$/.exec(value) ?? [];
  const verdict = name === 'prefixes' ? nearest(given, verdicts) : undefined;
  return verdict === undefined || verdict === given ? '' : `; did you mean ${prefix}=${verdict}?`;
}
