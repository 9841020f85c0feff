/** The manual page, section 1, as roff. */
import type { CommandHelp } from './read-help.ts';
import { wrapped } from './wrap.ts';

const program = 'kube-netfilter-tailer';

/** Of a terminal of 80 columns, `man` leaves so many beside its margins. */
const columns = 71;

/** `summary`: the help without a command. `version`: of this program. */
export function manualPage(summary: string, commands: readonly CommandHelp[], version: string): string {
  return `.TH KUBE\\-NETFILTER\\-TAILER 1 "" "${program} ${version}" "User Commands"
.SH NAME
${program} \\- writes Events on the Pods whose packets a node's netfilter drops
.SH SYNOPSIS
.B ${program}
.I COMMAND
[\\fIOPTION\\fR...]
.SH COMMANDS
${verbatim(summary)}
${commands.map(({ name, text }) => `.SH ${name.toUpperCase()}\n${verbatim(text)}`).join('\n')}
`;
}

/** As it stands: columns and examples are laid out, and roff would not wrap them. */
function verbatim(text: string): string {
  const lines = wrapped(text.trimEnd(), columns)
    .split('\n')
    .map((line) => line.replaceAll('\\', String.raw`\e`).replaceAll('-', String.raw`\-`))
    // A line that begins with one of them would be an instruction.
    .map((line) => line.replace(/^[.']/, String.raw`\&$&`));
  return `.nf\n${lines.join('\n')}\n.fi`;
}
