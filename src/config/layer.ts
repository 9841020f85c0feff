/** Layers of settings, none of them checked yet: what options set, what variables set, and defaults. */
import type { Origin } from './origin.ts';
import { configFile, type SettingName, settingNames, settingOf } from './settings.ts';
import type { Setting } from './values.ts';
import { isSlip } from './suggest.ts';

/** A value, not checked yet, and where it is from. */
export interface Given {
  readonly value: unknown;
  readonly origin: Origin;
  /** The origin of each item of a list, if they are from several places. */
  readonly items?: readonly Origin[];
}

/** The settings of one place. */
export type Layer = { readonly [Name in SettingName]?: Given };

export type Flags = Readonly<Record<string, string | readonly string[] | undefined>>;

export function layerOfFlags(flags: Flags): Layer {
  return layerOf((setting) => {
    const value = flags[setting.flag];
    return value === undefined ? undefined : given(setting, value, { kind: 'option', flag: setting.flag });
  });
}

/** A variable that is set to nothing counts as not set: manifests are written that way. */
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

/** The value as a file would have it, as far as the text is one: what is wrong is left for the schema to refuse. */
function given(setting: Setting, value: string | readonly string[], origin: Origin): Given {
  if (setting.list !== undefined) {
    const parts = typeof value === 'string' ? value.split(setting.list) : value;
    return { value: parts.map((part) => part.trim()).filter((part) => part !== ''), origin };
  }
  return { value: typed(setting, typeof value === 'string' ? value : value.at(-1)), origin };
}

function typed({ type }: Setting, text: string | undefined): unknown {
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

/** Takes names of two words or more, because a single one such as SOURCE may belong to any program. */
const variables = [configFile.env, ...settingNames.map((name) => settingOf(name).env)].filter((name) =>
  name.includes('_'),
);

/** An environment is full of other variables: a typo shows only by its likeness to one of ours that is not set. */
export function envTypos(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || !/^[A-Z_]+$/.test(name)) return [];
    const meant = variables.find((variable) => !env[variable] && isSlip(name, variable));
    return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`];
  });
}
