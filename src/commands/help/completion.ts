/** `completion`: scripts for shells that complete commands, options and their values. */
import type { CommandHelp, HelpOption } from './read-help.ts';

export const shells = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof shells)[number];

const program = 'kube-netfilter-tailer';
const files = /^(?:FILE|DIR|ROWS|LOG)$/;

/** Names and texts are those of our own help; texts are quoted all the same. */
export function completionScript(shell: Shell, commands: readonly CommandHelp[]): string {
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

function flagsOf({ short, long }: HelpOption): string[] {
  return [`--${long}`, ...(short === undefined ? [] : [`-${short}`])];
}

function wordsOf({ options }: CommandHelp): string {
  return options.flatMap(flagsOf).join(' ');
}

/** For zsh, too: it takes the same words. */
function cases(commands: readonly CommandHelp[], indent: string): string {
  return commands.map((command) => `${indent}${command.name}) words="${wordsOf(command)}" ;;\n`).join('');
}

/** What completes the value of an option, by `COMMAND:OPTION`. */
function valueCases(commands: readonly CommandHelp[], indent: string): string {
  return commands
    .flatMap(({ name, options }) =>
      options
        .filter(({ value }) => value !== undefined)
        .map((option) => {
          const pattern = flagsOf(option)
            .map((flag) => `${name}:${flag}`)
            .join(' | ');
          return `${indent}${pattern}) values="${option.choices.join(' ')}" ;;\n`;
        }),
    )
    .join('');
}

function bash(commands: readonly CommandHelp[]): string {
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

function zsh(commands: readonly CommandHelp[]): string {
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

function fish(commands: readonly CommandHelp[]): string {
  const lines = commands.flatMap(({ name, options }) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${name}`,
    ...options.map(({ short, long, value, choices, text }) => {
      const parts = [`complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -l ${long}`];
      if (short !== undefined) parts.push(`-s ${short}`);
      if (choices.length > 0) parts.push(`-x -a '${choices.join(' ')}'`);
      else if (value !== undefined) parts.push(files.test(value) ? '-r -F' : '-x');
      parts.push(`-d '${shortened(text).replaceAll(/['\\]/g, String.raw`\$&`)}'`);
      return parts.join(' ');
    }),
  ]);
  return `# Completion of ${program} for fish: ${program} completion fish | source\n${lines.join('\n')}\n`;
}

/** kubectl starts it as `kubectl_complete-drops`, and reads words and a last line that says: no files. */
function kubectl(commands: readonly CommandHelp[]): string {
  const drops = commands.filter(({ name }) => name === 'drops').map(wordsOf);
  return `#!/bin/sh
# Completion of kubectl drops: save it as kubectl_complete-drops in a folder of the PATH, with the right to execute it.
for word in top why report ${drops.join(' ')}; do echo "$word"; done
echo :4
`;
}

function names(commands: readonly CommandHelp[]): string {
  return [...commands.map(({ name }) => name), 'version'].join(' ');
}

/** A line of a list. */
function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
