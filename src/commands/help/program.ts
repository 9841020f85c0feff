/** All commands of the program in one tree, and what is made of it: the list of commands and the manual page. */
import { Argument, type Command } from 'commander';
import { version } from '../../config/config.ts';
import { createCommand, programName } from '../options/command.ts';
import { connectionOptions, suggestCommand, whyCommand } from '../options/why-options.ts';
import { configCommand, runCommand } from '../options/run-options.ts';
import { directoryCommand } from '../options/directory-options.ts';
import { doctorCommand } from '../options/doctor-options.ts';
import { dropsCommand, kubectlOptions, namespaceOptions } from '../options/drops-options.ts';
import { replayCommand } from '../options/replay-options.ts';
import { reportCommand } from '../options/report-options.ts';
import { topCommand } from '../options/top-options.ts';
import { shells } from './completion.ts';

/** Columns that `man` leaves of a terminal of 80. */
const columnsOfMan = 71;

export function createProgram(): Command {
  const program = createCommand(programName, {
    usage: 'COMMAND',
    about: `${programName} ${version}: writes Events on the Pods whose packets a node's netfilter drops`,
    more: `${programName} COMMAND --help shows more.`,
  }).version(version, '--version', 'print the version');
  const commands = [
    runCommand(),
    directoryCommand(),
    replayCommand(),
    reportCommand(),
    doctorCommand(),
    whyCommand(),
    suggestCommand(),
    createDrops('drops'),
    configCommand(),
    completionCommand(),
    createCommand('man', { summary: 'print the manual page', about: 'Prints the manual page.' }),
    createCommand('version', { summary: 'print the version', about: 'Prints the version.' }),
  ];
  for (const command of commands) program.addCommand(command);
  return program;
}

/** `name`: `kubectl drops` where kubectl starts it. */
export function createDrops(name: string): Command {
  const why = createCommand('why', {
    summary: 'the rule that denies the newest drops of a Pod, or any connection',
    usage: 'POD | --from END --to END --port PORT',
    about: 'Names the policy, rule and clause that deny the newest drops of a Pod, or any connection.',
  }).argument('[POD]');
  const connection = connectionOptions().map((each) => each.helpGroup('Any connection:'));
  for (const each of [...namespaceOptions, ...connection, ...kubectlOptions]) why.addOption(each);
  const drops = dropsCommand(name);
  for (const command of [topCommand(), why, reportCommand()]) drops.addCommand(command);
  return name === 'drops' ? drops : drops.version(version, '--version', 'print the version');
}

function completionCommand(): Command {
  return createCommand('completion', {
    summary: 'print a script that completes commands and options in a shell',
    usage: 'SHELL',
    about: `Prints a script for bash, zsh, fish, or kubectl, that completes commands, options and their values.

  source <(kube-netfilter-tailer completion bash)
  source <(kube-netfilter-tailer completion zsh)
  kube-netfilter-tailer completion fish | source
  kube-netfilter-tailer completion kubectl > ~/.local/bin/kubectl_complete-drops
  chmod +x ~/.local/bin/kubectl_complete-drops

The last two are for kubectl drops: kubectl starts a program of that name when it completes a plugin.`,
  }).addArgument(new Argument('<SHELL>', 'of these').choices(shells));
}

/** The manual page, section 1, as roff. */
export function manualPage(program: Command): string {
  const sections = program.commands.filter((command) => !['man', 'version'].includes(command.name()));
  return `.TH KUBE\\-NETFILTER\\-TAILER 1 "" "${programName} ${version}" "User Commands"
.SH NAME
${programName} \\- writes Events on the Pods whose packets a node's netfilter drops
.SH SYNOPSIS
.B ${programName}
.I COMMAND
[\\fIOPTION\\fR...]
.SH COMMANDS
${verbatim(program)}
${sections.map((command) => `.SH ${command.name().toUpperCase()}\n${helpsOf(command).join('\n')}`).join('\n')}
`;
}

function helpsOf(command: Command): string[] {
  return [command, ...command.commands.filter((sub) => sub.name() !== 'report')].map(verbatim);
}

/** The help as it stands: columns and examples are laid out, and roff would not wrap them. */
function verbatim(command: Command): string {
  const help = command.configureOutput({ getOutHelpWidth: () => columnsOfMan }).helpInformation();
  const lines = help
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll('\\', String.raw`\e`).replaceAll('-', String.raw`\-`))
    // A line that begins with one of them would be an instruction.
    .map((line) => line.replace(/^[.']/, String.raw`\&$&`));
  return `.nf\n${lines.join('\n')}\n.fi`;
}
