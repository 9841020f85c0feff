/** `completion`: scripts for shells that complete commands, options and their values. */
import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof shells)[number];

const program = 'kube-netfilter-tailer';
const files = /<(?:FILE|DIR|ROWS|LOG)>$/;

/** Names and texts are those of our own help; texts are quoted all the same. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      return zsh(commands);
    case 'fish':
      return fish(commands);
    case 'kubectl':
      return kubectl(commands);
    default:
      return shell satisfies never;
  }
}

function flagsOf({ short, long = '' }: Option): string[] {
  return [long, ...(short === undefined ? [] : [short])];
}

function optionsOf(command: Command): readonly Option[] {
  const own = command.commands.flatMap((sub) => (command.name() === 'drops' ? [] : sub.options));
  return [...command.options, ...own];
}

function wordsOf(command: Command): string {
  return [...command.commands.map((sub) => sub.name()), ...optionsOf(command).flatMap(flagsOf), '--help', '-h'].join(
    ' ',
  );
}

/** zsh takes the same words. */
function cases(commands: readonly Command[], indent: string): string {
  return commands.map((command) => `${indent}${command.name()}) words="${wordsOf(command)}" ;;\n`).join('');
}

/** What completes the value of an option, by `COMMAND:OPTION`. */
function valueCases(commands: readonly Command[], indent: string): string {
  return commands
    .flatMap((command) =>
      optionsOf(command)
        .filter(({ required }) => required)
        .map((option) => {
          const pattern = flagsOf(option)
            .map((flag) => `${command.name()}:${flag}`)
            .join(' | ');
          return `${indent}${pattern}) values="${(option.argChoices ?? []).join(' ')}" ;;\n`;
        }),
    )
    .join('');
}

function bash(commands: readonly Command[]): string {
  return `# Completion of ${program} for bash: source <(${program} completion bash)
_kube_netfilter_tailer() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words= values=-
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names(commands)}" -- "$word"))
    return
  fi
  case "$command:$before" in
${valueCases(commands, '    ')}  esac
  if [ "$values" != - ]; then
    # Of an option without a list, the value may be a file.
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
    return
  fi
  case "$command" in
${cases(commands, '    ')}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _kube_netfilter_tailer ${program}
`;
}

function zsh(commands: readonly Command[]): string {
  return `#compdef ${program}
# Completion of ${program} for zsh: source <(${program} completion zsh), or as _${program} in a folder of $fpath.
_kube_netfilter_tailer() {
  local command=\${words[2]} before=\${words[CURRENT-1]} words_before=$CURRENT values=-
  local -a found
  if (( CURRENT == 2 )); then
    compadd -- ${names(commands)}
    return
  fi
  case "$command:$before" in
${valueCases(commands, '    ')}  esac
  if [[ "$values" != - ]]; then
    if [[ -n "$values" ]]; then compadd -- \${=values}; else _files; fi
    return
  fi
  if [[ "\${words[CURRENT]}" != -* ]]; then
    _files
    return
  fi
  local words=
  case "$command" in
${cases(commands, '    ')}  esac
  compadd -- \${=words}
}
compdef _kube_netfilter_tailer ${program}
`;
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${command.name()}`,
    ...optionsOf(command).map(({ short, long = '', required, flags, argChoices: choices = [], description }) => {
      const parts = [`complete -c ${program} -n '__fish_seen_subcommand_from ${command.name()}' -l ${long.slice(2)}`];
      if (short !== undefined) parts.push(`-s ${short.slice(1)}`);
      if (choices.length > 0) parts.push(`-x -a '${choices.join(' ')}'`);
      else if (required) parts.push(files.test(flags) ? '-r -F' : '-x');
      parts.push(`-d '${shortened(description).replaceAll(/['\\]/g, String.raw`\$&`)}'`);
      return parts.join(' ');
    }),
  ]);
  return `# Completion of ${program} for fish: ${program} completion fish | source\n${lines.join('\n')}\n`;
}

/** kubectl starts it as `kubectl_complete-drops`, and reads words and a last line that says: no files. */
function kubectl(commands: readonly Command[]): string {
  const drops = commands.filter((command) => command.name() === 'drops').map(wordsOf);
  return `#!/bin/sh
# Completion of kubectl drops: save it as kubectl_complete-drops in a folder of the PATH, with the right to execute it.
for word in ${drops.join(' ')}; do echo "$word"; done
echo :4
`;
}

function names(commands: readonly Command[]): string {
  return commands.map((command) => command.name()).join(' ');
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
