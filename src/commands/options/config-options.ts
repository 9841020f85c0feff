/** The command `config`: prints the settings in force, or checks a config file. */
import type { Command } from 'commander';
import { checkConfigFile, loadConfig } from '../../config/config.ts';
import { printJson, printYaml, withoutDefaults } from '../../config/effective.ts';
import { createCommand, option, pathOf, problemsOf, UsageError } from './command.ts';
import { addSettings, readSettings } from './run-options.ts';

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

/** What `config print` prints. Throws a `UsageError` that lists all that is wrong. */
export function printConfig(command: Command, env?: NodeJS.ProcessEnv): string {
  const { effective = false, output } = command.opts<{ effective?: boolean; output?: string }>();
  const loaded = readSettings(command, problemsOf(command), (flags) => loadConfig({ flags, env }));
  const given = effective ? loaded.given : withoutDefaults(loaded.given);
  if (output === 'json') return printJson(given, loaded.warnings);
  return loaded.warnings.map((warning) => `# ${warning}\n`).join('') + printYaml(given);
}

/** What `config check` prints. Throws a `UsageError` that lists all that is wrong. */
export function checkConfig(command: Command): string {
  const [path = ''] = command.args;
  if (path === '') throw new UsageError(['config check takes one FILE'], pathOf(command));
  const problems = checkConfigFile(path);
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return `${path}: right\n`;
}
