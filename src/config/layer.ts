/** Makes layers of settings from options, variables and defaults. Values are not checked yet, and each has its origin. */
import { configFile, type SettingName, settingNames, settingOf } from './settings.ts';
import { isSlip } from './suggest.ts';
import type { Setting } from './values.ts';
import { printable } from '../platform/printable.ts';

export type Origin =
  | { readonly kind: 'option'; readonly flag: string }
  | { readonly kind: 'variable'; readonly name: string }
  | FileOrigin
  | { readonly kind: 'default' };

export interface FileOrigin {
  readonly kind: 'file';
  readonly path: string;
  readonly text: string;
  readonly offset: number;
  readonly key: string;
}

/** Names an origin in a message: `--max-nodes`, `MAX_NODES`, `/etc/knt.yaml:3:1`. */
export function placeOf(origin: Origin): string {
  switch (origin.kind) {
    case 'option':
      return `--${origin.flag}`;
    case 'variable':
      return origin.name;
    case 'file':
      return `${origin.path}:${lineAndColumn(origin.text, origin.offset)}`;
    case 'default':
      return 'default';
    default:
      return origin satisfies never;
  }
}

/** Returns line and column, both counted from 1: `3:1`. */
export function lineAndColumn(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

/** Makes the message for a wrong value: `MAX_NODES "many": must be a whole number`. */
export function problemWith(origin: Origin, value: unknown, message: string): string {
  const key = origin.kind === 'file' ? `: ${origin.key}` : '';
  return `${placeOf(origin)}${key}${shownValue(value)}: ${message}`;
}

const longest = 80;

/** Returns the value for a message, cut if it is long; '' for a list or a map. */
function shownValue(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = typeof value === 'string' && value.length > longest ? `${value.slice(0, longest)}…` : value;
  return ` ${typeof text === 'number' ? String(text) : JSON.stringify(text)}`;
}

/** The most problems that are shown, because a file may have any number of mistakes. */
const most = 25;

/** Makes the message of a problem. Called only for problems that are shown. */
export type Problem = () => string;

export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly Problem[]) {
    const shown = problems.slice(0, most).map((problem) => printable(problem()));
    if (problems.length > most) shown.push(`and ${problems.length - most} more`);
    super(shown.join('\n'));
    this.problems = shown;
  }
}

export interface Given {
  readonly value: unknown;
  readonly origin: Origin;
  /** The origin of each item of a list. */
  readonly items?: readonly Origin[];
}

export type Layer = { readonly [Name in SettingName]?: Given };

export type Flags = Readonly<Record<string, string | readonly string[] | undefined>>;

export function layerOfFlags(flags: Flags): Layer {
  return layerOf((setting) => {
    const value = flags[setting.flag];
    return value === undefined ? undefined : given(setting, value, { kind: 'option', flag: setting.flag });
  });
}

/** An empty variable counts as not set, because manifests often set an unused variable to ''. */
export function layerOfEnvironment(env: NodeJS.ProcessEnv): Layer {
  return layerOf((setting) => {
    const value = setting.env === '' ? '' : (env[setting.env] ?? '');
    return value === '' ? undefined : given(setting, value, { kind: 'variable', name: setting.env });
  });
}

export const defaults: Layer = layerOf((setting) =>
  setting.default === undefined ? undefined : given(setting, setting.default, { kind: 'default' }),
);

export function configPath(flags: Flags, env: NodeJS.ProcessEnv): string | undefined {
  const flag = flags[configFile.flag];
  return (typeof flag === 'string' ? flag : flag?.at(-1)) ?? (env[configFile.env] || undefined);
}

/** Converts a text to the type that a config file has. What cannot be converted stays text, and the schema refuses it. */
function given(setting: Setting, value: string | readonly string[], origin: Origin): Given {
  if (setting.list !== undefined) {
    const parts = typeof value === 'string' ? value.split(setting.list) : value;
    return { value: parts.map((part) => part.trim()).filter((part) => part !== ''), origin };
  }
  return { value: typed(setting, typeof value === 'string' ? value : value.at(-1)), origin };
}

function typed({ schema }: Setting, text: string | undefined): unknown {
  const { type } = schema.def;
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'number' && text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  return text;
}

function layerOf(find: (setting: Setting) => Given | undefined): Layer {
  return Object.fromEntries(
    settingNames.flatMap((name) => {
      const found = find(settingOf(name));
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

/** The names with which misspelt variables are compared. One-word names are left out, because a variable such as SOURCE may belong to any program. */
const variables = [configFile.env, ...settingNames.map((name) => settingOf(name).env)].filter((name) =>
  name.includes('_'),
);

/** Warns about a variable that looks like a misspelling of one of ours, if ours is not set. */
export function envTypos(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || !/^[A-Z_]+$/.test(name)) return [];
    const meant = variables.find((variable) => !env[variable] && isSlip(name, variable));
    return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`];
  });
}
