/** The options of commands that take all settings: one for each setting, and the command's own. */
import { ConfigError } from '../../config/config.ts';
import type { Flags } from '../../config/layer.ts';
import type { Setting } from '../../config/setting.ts';
import { configFile, settingNames, settingOf } from '../../config/settings.ts';
import { type OptionForms, type ParsedOptions, parseOptions } from './parse-options.ts';
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

const settingForms: OptionForms = Object.fromEntries(all.map(({ flag }) => [flag, { type: 'string' }]));

/** Reads the options of `command`; `own` are no settings. Throws a `UsageError` that lists all that is wrong with either. */
export function readSettingOptions<Loaded>(
  args: readonly string[],
  command: string,
  own: OptionForms,
  load: (flags: Flags) => Loaded,
): { loaded: Loaded; options: ParsedOptions } | 'help' {
  const forms = { ...settingForms, help: { type: 'boolean', short: 'h' } as const, ...own };
  const options = parseOptions(args, forms, false);
  const { values, switches, problems } = options;
  if (switches.has('help')) return 'help';
  try {
    const loaded = load(values);
    if (problems.length === 0) return { loaded, options };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
  }
  throw new UsageError(problems, command);
}
