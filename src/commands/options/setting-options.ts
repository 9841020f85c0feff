import { ConfigError, readSettings, type LoadedConfig, readUsableSettings, type Usable } from '../../config/config.ts';
import { configFile, settingNames, settingOf } from '../../config/settings.ts';
import type { Setting } from '../../config/types.ts';
import { type OptionForms, parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

const all: readonly Setting[] = [configFile, ...settingNames.map(settingOf)];

/** All settings as options, for a help text. */
export const settingsHelp = all
  .map(({ flag, env, value, help, list, default: preset }) => {
    const repeat = list === undefined ? '' : '; may be repeated';
    const start = preset ? `. Default: ${preset}` : '';
    return `  --${flag} ${value}${env === '' ? '' : `  (${env})`}\n      ${help}${repeat}${start}\n`;
  })
  .join('');

export interface ReadSettings<Extra extends OptionForms, What = LoadedConfig> {
  reading: What;
  extra: { readonly [Name in keyof Extra]?: string | boolean };
}

/**
 * Reads options, environment and file. Throws a `UsageError` that lists all that is wrong. `command` is what its help is asked from.
 */
export function readSettingOptions<Extra extends OptionForms>(
  args: readonly string[],
  command: string,
  own: Extra,
  env?: NodeJS.ProcessEnv,
): ReadSettings<Extra> | 'help' {
  return readOptions(args, command, own, (flags) => readSettings(flags, env));
}

/** The same for whoever has to go on with settings that are wrong: the `UsageError` lists what is wrong with the options alone. */
export function readUsableOptions<Extra extends OptionForms>(
  args: readonly string[],
  command: string,
  own: Extra,
  env?: NodeJS.ProcessEnv,
): ReadSettings<Extra, Usable> | 'help' {
  return readOptions(args, command, own, (flags) => readUsableSettings(flags, env));
}

function readOptions<Extra extends OptionForms, What>(
  args: readonly string[],
  command: string,
  own: Extra,
  read: (flags: Parsed['flags']) => What,
): ReadSettings<Extra, What> | 'help' {
  const { flags, extra, problems, help } = parse(args, own);
  if (help) return 'help';
  try {
    const reading = read(flags);
    if (problems.length === 0) return { reading, extra };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
  }
  throw new UsageError(problems, command);
}

const flagForms: OptionForms = Object.fromEntries(all.map(({ flag }) => [flag, { type: 'string' }]));

function parse(args: readonly string[], own: OptionForms): Parsed {
  const forms = { ...flagForms, help: { type: 'boolean', short: 'h' } as const, ...own };
  const { values, switches, problems } = parseOptions(args, forms, false);
  const flags = Object.fromEntries(Object.entries(values).filter(([name]) => name in flagForms));
  const extra = Object.fromEntries(
    Object.keys(own).flatMap((name) => {
      const value = own[name]?.type === 'boolean' ? switches.has(name) || undefined : values[name]?.at(-1);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return { flags, extra, problems, help: switches.has('help') };
}

interface Parsed {
  flags: Record<string, readonly string[]>;
  extra: Record<string, string | boolean>;
  problems: string[];
  help: boolean;
}
