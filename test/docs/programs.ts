import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as { programs: Record<string, string> };

/** Sub-commands of this project's own program; the documents name some of them without it. */
const own = /^(?:(?:run|replay|doctor) -|config (?:print|check)\b)/;

const anything = /^[^\s=,.;:()]/;

/** Programs that commands in sentences begin with, and how what follows begins. */
const programs: Readonly<Record<string, RegExp>> = Object.fromEntries(
  Object.entries(tables.programs).map(([name, pattern]) => [name, new RegExp(pattern)]),
);

/** The command line that `code` is, with the program's name where it was left out; `undefined` if it is something else. */
export function asCommand(code: string): string | undefined {
  if (own.test(code)) return `kube-netfilter-tailer ${code}`;
  if (/^(?:(?:\.\/|scripts\/)\S*|\.ci\/run(?: [\w-]+)*)$/.test(code) || /^(?:\.|scripts)\/\S+\.sh /.test(code))
    return code;
  const [, program = '', rest = ''] = /^(\S+) (.*)$/s.exec(code) ?? [];
  const follows = Object.hasOwn(programs, program) ? programs[program] : undefined;
  return follows?.test(rest) === true && anything.test(rest.replace(/^[|]\s*/, '')) ? code : undefined;
}

/** Matches the name of a known program in a text. */
export const programNames = new RegExp(
  String.raw`(?<![\w./-])(?:${Object.keys(programs)
    .toSorted((a, b) => b.length - a.length)
    .join('|')})(?= )`,
  'g',
);
