/** Scripts with which shells complete the command line: they ask the program itself, as those of kubectl do. */
import { programName } from './command.ts';

export const shells = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof shells)[number];

/** The first word of a command line that completes the remaining words. */
export const askWord = '__complete';

const bash = `# Completion of ${programName} for bash: source <(${programName} completion bash)
_kube_netfilter_tailer() {
  local word=\${COMP_WORDS[COMP_CWORD]} line directive words=()
  COMPREPLY=()
  while IFS= read -r line; do words+=("\${line%%$'\\t'*}"); done < <("\${COMP_WORDS[0]}" ${askWord} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ "\${#words[@]}" -gt 0 ] || return
  directive=\${words[\${#words[@]}-1]#:}
  unset "words[\${#words[@]}-1]"
  if [ "$directive" -eq 0 ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
    return
  fi
  if [ $((directive & 2)) -ne 0 ]; then compopt -o nospace 2>/dev/null; fi
  COMPREPLY=("\${words[@]}")
}
complete -F _kube_netfilter_tailer ${programName}
`;

/** The last line is for its first use from $fpath, where the script is the function itself. */
const zsh = `#compdef ${programName}
# Completion of ${programName} for zsh: source <(${programName} completion zsh), or as _${programName} in a folder of $fpath.
_${programName}() {
  local line directive
  local -a lines offered end
  lines=("\${(@f)$("\${words[1]}" ${askWord} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  directive=\${lines[-1]#:}
  lines=("\${(@)lines[1,-2]}")
  if [[ $directive == 0 ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    if [[ -n $line ]]; then offered+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${\${line#*$'\\t'}/#$line/}"); fi
  done
  if (( directive & 2 )); then end=(-S ''); fi
  _describe -V '' offered "\${end[@]}"
}
if [[ "$funcstack[1]" == _${programName} ]]; then _${programName} "$@"; else compdef _${programName} ${programName}; fi
`;

const fish = `# Completion of ${programName} for fish: ${programName} completion fish | source
function __kube_netfilter_tailer_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l lines ($typed[1] ${askWord} $typed[2..-1] 2>/dev/null)
    if test "$lines[-1]" = :0
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $lines[1..-2]
    end
end
complete -c ${programName} -f -a '(__kube_netfilter_tailer_complete)'
`;

/** kubectl runs it as \`kubectl_complete-drops\` with the words behind \`kubectl drops\`. */
const kubectl = `#!/bin/sh
# Completion of kubectl drops: save it as kubectl_complete-drops in a folder of the PATH, with the right to execute it.
exec kubectl drops ${askWord} "$@"
`;

const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, kubectl };

export function completionScript(shell: Shell): string {
  return scripts[shell];
}
