/** `completion`: scripts for shells that complete commands, options and their values. */
import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof shells)[number];

const program = 'kube-netfilter-tailer';
const files = /<(?:FILE|DIR|ROWS|LOG)>$/;

/** A command as the shells see it: what may follow its name, and its options. */
interface Completed {
  name: string;
  options: readonly Option[];
  words: string;
}

/** Names and texts are those of our own help; texts are quoted all the same. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return printers[shell](commands.map(describe));
}

function describe(command: Command): Completed {
  const subs = command.commands;
  const name = command.name();
  const options = [...command.options, ...(name === 'drops' ? [] : subs.flatMap((sub) => sub.options))];
  const words = [...subs.map((sub) => sub.name()), ...options.flatMap(flagsOf), '--help', '-h'].join(' ');
  return { name, options, words };
}

function flagsOf({ short, long = '' }: Option): string[] {
  return short === undefined ? [long] : [long, short];
}

/** Words and values (by `COMMAND:OPTION`) as cases, which bash and zsh write alike. */
function partsOf(commands: readonly Completed[]): { names: string; ofCommand: string; ofValue: string } {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap((option) => {
      const pattern = flagsOf(option).map((flag) => `${name}:${flag}`);
      return option.required ? `    ${pattern.join(' | ')}) values="${(option.argChoices ?? []).join(' ')}" ;;\n` : [];
    }),
  );
  return {
    names: commands.map(({ name }) => name).join(' '),
    ofCommand: commands.map(({ name, words }) => `    ${name}) words="${words}" ;;\n`).join(''),
    ofValue: values.join(''),
  };
}

const printers: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = { bash, zsh, fish, kubectl };

function bash(commands: readonly Completed[]): string {
  const { names, ofCommand, ofValue } = partsOf(commands);
  return `# Completion of ${program} for bash: source <(${program} completion bash)
_kube_netfilter_tailer() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words= values=-
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names}" -- "$word"))
    return
  fi
  case "$command:$before" in
${ofValue}  esac
  if [ "$values" != - ]; then
    # Of an option without a list, the value may be a file.
    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
    return
  fi
  case "$command" in
${ofCommand}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _kube_netfilter_tailer ${program}
`;
}

function zsh(commands: readonly Completed[]): string {
  const { names, ofCommand, ofValue } = partsOf(commands);
  return `#compdef ${program}
# Completion of ${program} for zsh: source <(${program} completion zsh), or as _${program} in a folder of $fpath.
_kube_netfilter_tailer() {
  local command=\${words[2]} before=\${words[CURRENT-1]} words_before=$CURRENT values=-
  local -a found
  if (( CURRENT == 2 )); then
    compadd -- ${names}
    return
  fi
  case "$command:$before" in
${ofValue}  esac
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
${ofCommand}  esac
  compadd -- \${=words}
}
compdef _kube_netfilter_tailer ${program}
`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, options }) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${name}`,
    ...options.map(({ short, long = '', required, flags, argChoices: choices = [], description }) => {
      const parts = [`complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)}`];
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
function kubectl(commands: readonly Completed[]): string {
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
