/** Loads the settings from options, environment and config file, and follows the file while the agent runs. */
import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod/mini';
import manifest from '../../../package.json' with { type: 'json' };
import { verdicts } from '../../base/model/packet.ts';
import type { Log } from '../telemetry/logger.ts';
import {
  ConfigError,
  type SettingProblem,
  problemWith,
  configPath,
  defaults,
  envTypos,
  type Flags,
  type SettingValue,
  inherit,
  type Layer,
  layerOfEnvironment,
  layerOfFlags,
} from './layer.ts';
import { type FileLayer, readConfigText, readFileLayer } from './file-layer.ts';
import { type Config, configFile, schema, type SettingName, settingNames, settingOf } from './settings.ts';
import { nearest, didYouMean } from './suggest.ts';

export { ConfigError } from './layer.ts';
export type { Config } from './settings.ts';
export type { SourceSetting } from './values.ts';

export const version: string = manifest.version;

export interface ConfigInputs {
  /** The values of options by name, without dashes. */
  flags: Flags;
  env?: NodeJS.ProcessEnv | undefined;
  /** Throws an Error whose message says why the file cannot be read. */
  readText?: (path: string) => string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Each setting that has a value, in the type of a config file, with its origin. */
  readonly given: Layer;
  readonly warnings: readonly string[];
  readonly file: ConfigFile | undefined;
}

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
  /** Throws an Error that says why the file cannot be read. */
  readonly readAgain: () => string;
  /** Loads all settings as if the file had this text. Throws a `ConfigError`. */
  readonly understand: (text: string) => LoadedConfig;
}

export interface UsableConfig extends Pick<LoadedConfig, 'config' | 'warnings'> {
  /** Sentences. In `config`, a wrong setting has its default, and a missing or wrong `node` is ''. */
  readonly problems: readonly string[];
}

/** Precedence: options, variables, file, variables of kube-iptables-tailer, `assumed`, defaults. Throws one `ConfigError` with all problems. */
export function loadConfig(inputs: ConfigInputs, assumed?: Layer): LoadedConfig {
  const { given, warnings, file, problems, wrong, config } = readLayers(inputs, assumed);
  if (config === undefined || problems.length > 0)
    throw new ConfigError([...problems, ...wrong.map(({ problem }) => problem)]);
  const { readText = readConfigText } = inputs;
  return {
    config,
    given,
    warnings,
    file: file && {
      ...file,
      readAgain: () => readText(file.path),
      understand: (text) => loadConfig({ ...inputs, readText: () => text }),
    },
  };
}

/** Loads the settings for a command that runs even if some are wrong. Throws a `ConfigError` if an option is wrong. */
export function loadUsableConfig(inputs: ConfigInputs): UsableConfig {
  const { given, warnings, problems, wrong } = readLayers(inputs);
  const wrongFlags = wrong.filter(({ name }) => given[name]?.origin.kind === 'option');
  if (wrongFlags.length > 0) throw new ConfigError(wrongFlags.map(({ problem }) => problem));
  const unusable = new Set<string>(wrong.map(({ name }) => name));
  const usable: Layer = Object.fromEntries(Object.entries(given).filter(([name]) => !unusable.has(name)));
  const config = schema.parse(valuesOf({ ...defaults, ...anyNode, ...usable }));
  const all = [...problems, ...wrong.map(({ problem }) => problem)];
  return {
    config: Object.freeze(usable.node === undefined ? { ...config, node: '' } : config),
    problems: all.length === 0 ? [] : new ConfigError(all).problems,
    warnings,
  };
}

/** The file may leave out any setting. */
export function checkConfigFile(path: string, readText = readConfigText): readonly string[] {
  try {
    loadConfig({ flags: { [configFile.flag]: path }, env: {}, readText }, anyNode);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

export function searchPath(env: NodeJS.ProcessEnv = process.env): string {
  return env['PATH'] ?? '';
}

export function environment(): NodeJS.ProcessEnv {
  return process.env;
}

const anyNode: Layer = { node: { value: 'node', origin: { kind: 'default' } } };

interface Layers extends Pick<LoadedConfig, 'given' | 'warnings'> {
  file: FileLayer['file'];
  /** Problems of the file itself, such as an unknown key. */
  problems: readonly SettingProblem[];
  wrong: readonly { name: SettingName; problem: SettingProblem }[];
  /** Undefined if a setting is wrong. */
  config: Config | undefined;
}

function readLayers({ flags, env = process.env, readText = readConfigText }: ConfigInputs, assumed?: Layer): Layers {
  const { file, problems, unusable, layer } = readFileLayer(configPath(flags, env), readText);
  const own: Layer = { ...layer, ...layerOfEnvironment(env), ...layerOfFlags(flags) };
  const inherited = inherit(env, own);
  const given: Layer = { ...defaults, ...assumed, ...inherited.layer, ...own };
  const { data, error } = schema.safeParse(valuesOf(given));
  const wrong = (error?.issues ?? [])
    // If the file could not be parsed, a missing setting is not reported, because the file may contain it.
    .filter(({ path: [name] }) => !unusable || given[name as SettingName] !== undefined)
    .map((issue) => ({ name: issue.path[0] as SettingName, problem: () => problemOf(issue, given) }));
  const warnings = [...inherited.warnings, ...envTypos(env)];
  return { given, warnings, file, problems, wrong, config: data && Object.freeze(data) };
}

function valuesOf(given: Layer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, value]));
}

function problemOf({ path: [key = '', index], message }: z.core.$ZodIssue, given: Layer): string {
  const name = key as SettingName;
  const setting = settingOf(name);
  const { value, origin, items } = given[name] ?? ({ value: undefined } as Partial<SettingValue>);
  if (origin === undefined) return `${[setting.env, `--${setting.flag}`].filter(Boolean).join(' or ')}: ${message}`;
  if (index === undefined)
    return problemWith(origin, value, message + (setting.list === undefined ? hintFor(name, value) : ''));
  const item = (value as readonly unknown[])[Number(index)];
  return problemWith(items?.[Number(index)] ?? origin, item, message + hintFor(name, item));
}

const sourceKinds = ['auto', 'kernel', 'containers', 'journal', 'bpf-trace', 'kernel-drops', 'calico-flows'] as const;

function hintFor(name: SettingName, value: unknown): string {
  if (typeof value !== 'string') return '';
  const { choices } = settingOf(name);
  if (choices !== undefined) return didYouMean(value, choices);
  if (name === 'sources') return didYouMean(value, sourceKinds);
  const [, prefix, given = ''] = /^(.{0,80})=(\w+)$/.exec(value) ?? [];
  const verdict = name === 'prefixes' ? nearest(given, verdicts) : undefined;
  return verdict === undefined || verdict === given ? '' : `; did you mean ${prefix}=${verdict}?`;
}

export interface Reload {
  /** Call it every few seconds. */
  look: () => void;
  readonly counts: { ok: number; failed: number };
  /** False while the file is wrong, cannot be read, or needs a restart. */
  readonly inForce: boolean;
}

export interface ReloadOptions {
  loaded: LoadedConfig;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** The new settings differ only in those that need no restart. */
  apply: (config: Config) => void;
}

/** Waits until two readings give the same text, because a file may be half written. Logs a wrong text once. */
export function createReload({ loaded, log, apply }: ReloadOptions): Reload {
  const { file } = loaded;
  /** `ok`: valid changes of the file, even if they need a restart. `failed`: invalid changes, and failures to read the file. */
  const counts = { ok: 0, failed: 0 };
  let running = loaded.config;
  let judged = file?.text;
  let seen = judged;
  /** Why the last reading failed; undefined if it succeeded. */
  let unreadable: string | undefined;
  /** Whether all settings of the latest checked text are in force. */
  let followed = true;

  return {
    look,
    counts,
    get inForce(): boolean {
      return followed && unreadable === undefined;
    },
  };

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
