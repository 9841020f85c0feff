import type * as z from 'zod/mini';
import { verdicts } from '../model/packet.ts';
import { ConfigError, type Problem } from './config-error.ts';
import { layerOfFile } from './file-layer.ts';
import { inherit } from './kube-iptables-tailer.ts';
import { configPath, defaults, type Flags, type Given, type Layer, layerOfEnvironment, layerOfFlags } from './layer.ts';
import { envTypos } from './env-typos.ts';
import { problemWith } from './origin.ts';
import { schema } from './schema.ts';
import { configFile, settingOf } from './settings.ts';
import type { Config, SettingName } from './types.ts';
import { nearest, suggest } from './suggest.ts';

/** The settings that hold, and how they came about. */
export interface LoadedConfig {
  readonly config: Config;
  /** By name of the setting, as a file would have it. */
  readonly given: Layer;
  /** What works, but should be changed. */
  readonly warnings: readonly string[];
  readonly file: ConfigFile | undefined;
}

/** The config file, to be looked at again. */
export interface ConfigFile {
  readonly path: string;
  /** As it was read. */
  readonly text: string;
  /** As it is now. Throws an Error that says why it cannot be read. */
  readonly readAgain: () => string;
  /** All settings as they would be with this text in the file. Throws a `ConfigError`. */
  readonly understand: (text: string) => LoadedConfig;
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
export function readAll(options: ReadOptions): LoadedConfig {
  return combine(options, fileNamedBy(options));
}

/** As much of the settings as can be used. */
export interface Usable {
  /** What is wrong has its default; `node` is '' where none can be used. */
  readonly config: Config;
  /** What is wrong, each with the place it is from. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** For whoever has to go on with settings that are wrong. Throws a `ConfigError` that lists what is wrong with `flags`. */
export function readUsable(options: ReadOptions): Usable {
  const { given, warnings, problems, wrong } = weigh(options, fileNamedBy(options));
  const isFlag = (name: SettingName): boolean => given[name]?.origin.kind === 'option';
  const flags = wrong.filter(({ name }) => isFlag(name));
  if (flags.length > 0) throw new ConfigError(flags.map(({ problem }) => problem));
  const bad = new Set<string>(wrong.map(({ name }) => name));
  const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !bad.has(name)));
  const nobody: Layer = { node: { value: 'nobody', origin: { kind: 'default' } } };
  const config = schema.parse(valuesOf({ ...defaults, ...nobody, ...kept })) as Config;
  const all = [...problems, ...wrong.map(({ problem }) => problem)];
  return {
    config: Object.freeze(kept['node'] === undefined ? { ...config, node: '' } : config),
    problems: all.length === 0 ? [] : new ConfigError(all).problems,
    warnings,
  };
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

function fileNamedBy({ flags, env, readText }: ReadOptions): FileGiven {
  const path = configPath(flags, env);
  if (path === undefined) return undefined;
  if (path === '') return { path: `--${configFile.flag}`, problem: 'names no file' };
  try {
    return { path, text: readText(path) };
  } catch (error) {
    return { path, problem: (error as Error).message };
  }
}

interface Weighed {
  given: Layer;
  warnings: readonly string[];
  /** With the file as such. */
  problems: readonly Problem[];
  /** Settings with a value that cannot be, or without one. */
  wrong: readonly { name: SettingName; problem: Problem }[];
  /** Undefined where something is wrong. */
  config: Config | undefined;
}

function weigh({ flags, env, assumed }: ReadOptions, file: FileGiven): Weighed {
  const fromFile =
    file === undefined
      ? { layer: {}, problems: [], unusable: false }
      : 'problem' in file
        ? { layer: {}, problems: [() => `${file.path}: ${file.problem}`], unusable: true }
        : layerOfFile(file.text, file.path);
  const own: Layer = { ...fromFile.layer, ...layerOfEnvironment(env), ...layerOfFlags(flags) };
  const inherited = inherit(env, own);
  const given: Layer = { ...defaults, ...assumed, ...inherited.layer, ...own };

  const { data, error } = schema.safeParse(valuesOf(given));
  const wrong = (error?.issues ?? [])
    // It may have been in the file that could not be understood.
    .filter(({ path: [name] }) => !fromFile.unusable || given[name as SettingName] !== undefined)
    .map((issue) => ({ name: issue.path[0] as SettingName, problem: () => problemOf(issue, given) }));
  const config = data && (Object.freeze(data) as Config);
  const warnings = [...inherited.warnings, ...envTypos(env)];
  return { given, warnings, problems: fromFile.problems, wrong, config };
}

function valuesOf(given: Layer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, value]));
}

function combine(options: ReadOptions, file: FileGiven): LoadedConfig {
  const { given, warnings, problems, wrong, config } = weigh(options, file);
  if (config === undefined || problems.length + wrong.length > 0)
    throw new ConfigError([...problems, ...wrong.map(({ problem }) => problem)]);
  return {
    config,
    given,
    warnings,
    file: file === undefined || 'problem' in file ? undefined : reread(file),
  };

  function reread({ path, text }: { path: string; text: string }): ConfigFile {
    return {
      path,
      text,
      readAgain: () => options.readText(path),
      understand: (changed) => combine(options, { path, text: changed }),
    };
  }
}

function problemOf({ path: [key = '', index], message }: z.core.$ZodIssue, given: Layer): string {
  const name = key as SettingName;
  const setting = settingOf(name);
  const { value, origin, items } = given[name] ?? ({ value: undefined } as Partial<Given>);
  if (origin === undefined) return `${[setting.env, `--${setting.flag}`].filter(Boolean).join(' or ')}: ${message}`;
  if (index === undefined)
    return problemWith(origin, value, message + (setting.list === undefined ? hintFor(name, value) : ''));
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
