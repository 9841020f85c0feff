/** The tree of all commands, and the manual page that is made from it. */
import { Argument, type Command } from 'commander';
import { createCommand, programName } from './command.ts';
import { shells } from './completion-scripts.ts';
import { directoryCommand } from './directory-options.ts';
import { dropsCommand, whyPodCommand } from './drops-options.ts';
import { topCommand } from './top-options.ts';
import { replayCommand } from './replay-options.ts';
import { reportCommand } from './report-options.ts';
import { configCommand, runCommand, doctorCommand } from './run-options.ts';
import { suggestCommand, whyCommand } from './why-options.ts';
import { version } from '../../agent/config/config.ts';

/** The columns that `man` leaves for text in a terminal of 80 columns. */
const columnsOfMan = 71;

export function createProgram(): Command {
  return createCommand(programName, {
    usage: 'COMMAND',
    about: `${programName} ${version}: writes Events on the Pods whose packets a node's netfilter drops`,
    more: `${programName} COMMAND --help shows more.`,
    commands: [
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
    ],
  }).version(version, '--version', 'print the version');
}

/** `name`: `kubectl drops` if kubectl starts it. */
export function createDrops(name: string): Command {
  const drops = dropsCommand(name, [topCommand(), whyPodCommand(), reportCommand()]);
  return name === 'drops' ? drops : drops.version(version, '--version', 'print the version');
}

function completionCommand(): Command {
  return createCommand('completion', {
    summary: 'print a script that completes commands and options in a shell',
    usage: 'SHELL',
    about: `Prints a completion script for bash, zsh, fish, or kubectl. It completes commands, options and their values; names of namespaces, Pods, workloads and Nodes are read from the cluster, with your rights.

  source <(kube-netfilter-tailer completion bash)
  source <(kube-netfilter-tailer completion zsh)
  kube-netfilter-tailer completion fish | source
  kube-netfilter-tailer completion kubectl > ~/.local/bin/kubectl_complete-drops
  chmod +x ~/.local/bin/kubectl_complete-drops

The last two are for kubectl drops: kubectl starts a program of that name when it completes a plugin.`,
  }).addArgument(new Argument('<SHELL>', 'the shell, or kubectl').choices(shells));
}

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

/** Takes the help without changes, because roff would wrap its columns and examples. */
function verbatim(command: Command): string {
  const help = command.configureOutput({ getOutHelpWidth: () => columnsOfMan }).helpInformation();
  const lines = help
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll('\\', String.raw`\e`).replaceAll('-', String.raw`\-`))
    // roff would take a line that begins with one of these characters for an instruction.
    .map((line) => line.replace(/^[.']/, String.raw`\&$&`));
  return `.nf\n${lines.join('\n')}\n.fi`;
}
