/** `run` and `config`, and the options of all commands that take the settings: one for each setting. */
import type { Command, Option } from 'commander';
import { checkConfigFile, ConfigError, loadConfig, type LoadedConfig } from '../../config/config.ts';
import { printJson, printYaml, withoutDefaults } from '../../config/effective.ts';
import type { Flags } from '../../config/layer.ts';
import type { Setting } from '../../config/values.ts';
import { configFile, settingNames, settingOf } from '../../config/settings.ts';
import { createCommand, option, pathOf, problemsOf, UsageError } from './command.ts';

const all: readonly Omit<Setting, 'schema'>[] = [configFile, ...settingNames.map(settingOf)];

function optionOf({ flag, env, value, help, list, default: preset }: Omit<Setting, 'schema'>): Option {
  const repeat = list === undefined ? '' : '; may be repeated';
  const start = preset ? `. Default: ${preset}` : '';
  const choices = /^[a-z]+(?:\|[a-z]+)+$/.test(value) ? value.split('|') : undefined;
  const made = option(`--${flag} <${value}>`, `${help}${repeat}${start}${env === '' ? '' : ` (${env})`}`, {
    many: true,
  });
  if (choices !== undefined) made.argChoices = choices;
  return made.helpGroup('Settings:');
}

export function addSettings(command: Command): Command {
  for (const setting of all) command.addOption(optionOf(setting));
  return command;
}

/** Reads the settings of a command. `problems`: what is wrong beside. Throws a `UsageError` that lists all that is wrong. */
export function readSettings<Loaded>(
  command: Command,
  problems: readonly string[],
  load: (flags: Flags) => Loaded,
): Loaded {
  const flags = Object.fromEntries(
    command.options.map((each) => [each.long?.slice(2) ?? '', command.opts<Flags>()[each.attributeName()]]),
  );
  try {
    const loaded = load(Object.fromEntries(all.map(({ flag }) => [flag, flags[flag]])));
    if (problems.length === 0) return loaded;
    throw new UsageError(problems, pathOf(command));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError([...problems, ...error.problems], pathOf(command));
  }
}

export function runCommand(): Command {
  return addSettings(
    createCommand('run', {
      summary: 'the agent of one node: reads its logs, writes Events',
      usage: '[OPTION...]',
      about: `The agent of one node: reads its logs and writes Events on the Pods whose packets are dropped. Runs until it gets SIGTERM.

Each option can be set in the environment or in a file instead. Precedence: option, variable, file.
"kube-netfilter-tailer config print --effective" shows the settings in force, and where each is from.`,
      exits: ['stopped in good order', 'nothing can be read, or the program itself failed', 'a setting is wrong'],
    }),
  );
}

export function readRunOptions(command: Command, env?: NodeJS.ProcessEnv): LoadedConfig {
  return readSettings(command, problemsOf(command), (flags) => loadConfig({ flags, env }));
}

const exits = ['all is right', '', 'a setting, the file or the command line is wrong'];

export function configCommand(): Command {
  const print = createCommand('print', {
    summary: 'what is set, and where each setting is from',
    usage: '[OPTION...]',
    about: `Prints what is set by the options given, the environment and the file that these name: the settings that "run" would have here.
As YAML it is a config file itself, with a comment behind each value that says where it is from.`,
    exits,
  })
    .addOption(option('--effective', 'settings with their default values too'))
    .addOption(
      option('-o, --output <FORMAT>', 'yaml (default), or json: {"config": SETTINGS, "from": WHERE EACH IS FROM}', {
        choices: ['yaml', 'json'],
      }),
    );
  const check = createCommand('check', {
    summary: 'whether a file is right, all by itself',
    usage: 'FILE',
    about: 'Looks whether FILE is right, all by itself. Says all that is wrong, each with its line.',
    exits,
  }).argument('<FILE>');
  return createCommand('config', {
    summary: 'print the settings in force and where each is from, or check a config file',
    usage: 'print|check',
    about: 'Prints the settings in force, or checks a config file.',
    exits,
  })
    .addCommand(addSettings(print))
    .addCommand(check);
}

/** Returns what `config print` prints. Throws a `UsageError` that lists all that is wrong. */
export function printConfig(command: Command, env?: NodeJS.ProcessEnv): string {
  const { effective = false, output } = command.opts<{ effective?: boolean; output?: string }>();
  const loaded = readSettings(command, problemsOf(command), (flags) => loadConfig({ flags, env }));
  const given = effective ? loaded.given : withoutDefaults(loaded.given);
  if (output === 'json') return printJson(given, loaded.warnings);
  return loaded.warnings.map((warning) => `# ${warning}\n`).join('') + printYaml(given);
}

/** Returns what `config check` prints. Throws a `UsageError` that lists all that is wrong. */
export function checkConfig(command: Command): string {
  const [path = ''] = command.args;
  if (path === '') throw new UsageError(['config check takes one FILE'], pathOf(command));
  const problems = checkConfigFile(path);
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return `${path}: right\n`;
}
