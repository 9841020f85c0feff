import { parseArgs } from 'node:util';
import { ConfigError, readSettings, type Reading } from '../config.ts';
import { configFile, settingNames, settingOf } from '../config/settings.ts';
import type { Setting } from '../config/types.ts';
import { suggest } from '../config/suggest.ts';
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

/** Options that a command has beside those of the settings. */
export interface ExtraOptions {
  readonly [name: string]: { readonly type: 'string' | 'boolean'; readonly short?: string };
}

export interface ReadSettings<Extra extends ExtraOptions> {
  reading: Reading;
  extra: { readonly [Name in keyof Extra]?: string | boolean };
}

/**
 * Reads options, environment and file. Throws a `UsageError` that lists all that is wrong. `command` is what its help is asked from.
 */
export function readSettingOptions<Extra extends ExtraOptions>(
  args: readonly string[],
  command: string,
  own: Extra,
  env?: NodeJS.ProcessEnv,
): ReadSettings<Extra> | 'help' {
  const { flags, extra, problems, help } = parse(args, own);
  if (help) return 'help';
  try {
    const reading = readSettings(flags, env);
    if (problems.length === 0) return { reading, extra };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
  }
  throw new UsageError(problems, command);
}

interface Parsed {
  flags: Record<string, readonly string[]>;
  extra: Record<string, string | boolean>;
  problems: string[];
  help: boolean;
}

/** As `parseArgs` does in strict mode, which throws at the first problem. */
function parse(args: readonly string[], own: ExtraOptions): Parsed {
  const parsed: Parsed = { flags: {}, extra: {}, problems: [], help: false };
  const { problems } = parsed;
  const known: ExtraOptions = { help: { type: 'boolean', short: 'h' }, ...own };
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: { ...known, ...Object.fromEntries(all.map(({ flag }) => [flag, { type: 'string' } as const])) },
  });
  /** Where the value of an option stands that was refused itself. */
  let orphan: number | undefined;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (token.index !== orphan) problems.push(`${token.value}: is no option; each begins with --`);
      continue;
    }
    const { name, rawName, value, inlineValue } = token;
    const setting = all.find(({ flag }) => flag === name);
    const type = setting === undefined ? known[name]?.type : 'string';
    if (type === undefined) {
      if (value === undefined) orphan = token.index + 1;
      const names = [...all.map(({ flag }) => flag), ...Object.keys(known)].map((each) => `--${each}`);
      problems.push(`${rawName}: there is no such option${rawName.startsWith('--') ? suggest(rawName, names) : ''}`);
    } else if (type === 'boolean') {
      if (value !== undefined) problems.push(`${rawName}: takes no value`);
      else if (name === 'help') parsed.help = true;
      else parsed.extra[name] = true;
    } else if (value === undefined || (!inlineValue && value.startsWith('-'))) {
      // What begins with - is taken for the next option, which may have a value of its own.
      orphan = token.index + 2;
      problems.push(
        `${rawName}: has no value${value === undefined ? '' : `; for one that begins with -: ${rawName}=${value}`}`,
      );
    } else if (setting === undefined) parsed.extra[name] = value;
    else parsed.flags[name] = [...(parsed.flags[name] ?? []), value];
  }
  return parsed;
}
