/** The tree of all commands, and what is made from it: the manual page, and scripts with which shells complete commands and options. */
import { Argument, type Command, type Option } from 'commander';
import { createCommand, programName } from './command.ts';
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
    about: `Prints a script for bash, zsh, fish, or kubectl, that completes commands, options and their values.

  source <(kube-netfilter-tailer completion bash)
  source <(kube-netfilter-tailer completion zsh)
  kube-netfilter-tailer completion fish | source
  kube-netfilter-tailer completion kubectl > ~/.local/bin/kubectl_complete-drops
  chmod +x ~/.local/bin/kubectl_complete-drops

The last two are for kubectl drops: kubectl starts a program of that name when it completes a plugin.`,
  }).addArgument(new Argument('<SHELL>', 'of these').choices(shells));
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

const shells = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof shells)[number];

const files = /<(?:FILE|DIR|ROWS|LOG)>$/;

interface CompletedCommand {
  name: string;
  options: readonly Option[];
  words: string;
}

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return printers[shell](commands.map(describe));
}

function describe(command: Command): CompletedCommand {
  const subs = command.commands;
  const name = command.name();
  // `drops` has options of its own, and its subcommands have others of the same names (`--output`).
  const options = [...command.options, ...(name === 'drops' ? [] : subs.flatMap((sub) => sub.options))];
  const words = [...subs.map((sub) => sub.name()), ...options.flatMap(flagsOf), '--help', '-h'].join(' ');
  return { name, options, words };
}

function flagsOf({ short, long = '' }: Option): string[] {
  return short === undefined ? [long] : [long, short];
}

const printers: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash,
  zsh,
  fish,
  kubectl,
};

function bash(commands: readonly CompletedCommand[]): string {
  const ofCommand = commands.map(({ name, words }) => `    ${name}) offered="${words}" ;;\n`);
  const ofValue = commands.flatMap(({ name, options }) =>
    options.flatMap((option) => {
      const pattern = flagsOf(option).map((flag) => `${name}:${flag}`);
      return option.required ? `    ${pattern.join(' | ')}) values="${(option.argChoices ?? []).join(' ')}" ;;\n` : [];
    }),
  );
  return `# Completion of ${programName} for bash: source <(${programName} completion bash)
_kube_netfilter_tailer() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} offered= values=-
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$word"))
    return
  fi
  case "$command:$before" in
${ofValue.join('')}  esac
  if [ "$values" != - ]; then
    # Of an option without a list, the value may be a file.
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
    return
  fi
  case "$command" in
${ofCommand.join('')}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$offered" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _kube_netfilter_tailer ${programName}
`;
}

/** zsh can run the completion of bash. The last line is for its first use from $fpath, where the script is the function itself. */
function zsh(commands: readonly CompletedCommand[]): string {
  return `#compdef ${programName}
# Completion of ${programName} for zsh: source <(${programName} completion zsh), or as _${programName} in a folder of $fpath.
autoload -Uz bashcompinit && bashcompinit
${bash(commands)}if [[ "$funcstack[1]" == _${programName} ]]; then _bash_complete -o filenames -F _kube_netfilter_tailer; fi
`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, options }) => [
    `complete -c ${programName} -n __fish_use_subcommand -f -a ${name}`,
    ...options.map(({ short, long = '', required, flags, argChoices: choices = [], description }) => {
      const parts = [`complete -c ${programName} -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)}`];
      if (short !== undefined) parts.push(`-s ${short.slice(1)}`);
      if (choices.length > 0) parts.push(`-x -a '${choices.join(' ')}'`);
      else if (required) parts.push(files.test(flags) ? '-r -F' : '-x');
      parts.push(`-d '${shortened(description).replaceAll(/['\\]/g, String.raw`\$&`)}'`);
      return parts.join(' ');
    }),
  ]);
  return `# Completion of ${programName} for fish: ${programName} completion fish | source\n${lines.join('\n')}\n`;
}

/** kubectl runs it as `kubectl_complete-drops`, and reads the words that it prints. The last line tells kubectl not to complete files. */
function kubectl(commands: readonly CompletedCommand[]): string {
  return `#!/bin/sh
# Completion of kubectl drops: save it as kubectl_complete-drops in a folder of the PATH, with the right to execute it.
for word in ${commands.find(({ name }) => name === 'drops')?.words}; do echo "$word"; done
echo :4
`;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
