/** What the help of a command says, read from its text: completion and the manual page have no other list of options. */

export interface HelpOption {
  /** Without its dashes; undefined: it has no short form. */
  readonly short: string | undefined;
  readonly long: string;
  /** The name of its value, such as `FILE`; undefined: it takes none. */
  readonly value: string | undefined;
  /** Values it may have, where the help lists them. */
  readonly choices: readonly string[];
  /** In one line. */
  readonly text: string;
}

export interface CommandHelp {
  readonly name: string;
  readonly text: string;
  readonly options: readonly HelpOption[];
}

export function readHelp(name: string, text: string): CommandHelp {
  const options: HelpOption[] = [];
  let open: { head: string; lines: string[] } | undefined;
  const close = (): void => {
    if (open !== undefined) options.push(...optionsOf(open.head, open.lines));
    open = undefined;
  };
  for (const line of text.split('\n')) {
    const { head, first } = optionIn(line);
    if (head !== undefined) {
      close();
      // The variable that sets the same stands in brackets.
      open = { head, lines: first === undefined || /^\([A-Z_]+\)$/.test(first) ? [] : [first] };
    } else if (open !== undefined && /^ {6,}\S/.test(line)) open.lines.push(line.trim());
    else close();
  }
  close();
  const known = new Set<string>();
  return { name, text, options: options.filter(({ long }) => !known.has(long) && known.add(long)) };
}

/** Two spaces part an option from its text, which may also begin in the next line. `head` is undefined in other lines. */
function optionIn(line: string): { head: string | undefined; first: string | undefined } {
  const text = line.trimStart();
  const indent = line.length - text.length;
  if (indent < 2 || indent > 6 || !text.startsWith('-')) return { head: undefined, first: undefined };
  const gap = text.indexOf('  ');
  return gap < 0 ? { head: text, first: undefined } : { head: text.slice(0, gap), first: text.slice(gap).trimStart() };
}

/** `-o, --output FORMAT`, or a list of options that have one text. */
function optionsOf(head: string, lines: readonly string[]): HelpOption[] {
  const longs = [...head.matchAll(/--([a-z][\w-]*)/g)].map(([, long = '']) => long);
  const short = /^-(\w)\b/.exec(head)?.[1];
  const named = / ([A-Z[][^ ,]*|[a-z]+(?:\|[a-z]+)+)$/.exec(head)?.[1];
  const text = lines.join(' ').replaceAll(/ {2,}/g, ' ');
  return longs.map((long) => ({
    short: longs.length === 1 ? short : undefined,
    long,
    // Options that are listed together are those of kubectl.
    value: named ?? (longs.length > 1 ? 'VALUE' : undefined),
    choices: choicesOf(named, lines),
    text,
  }));
}

/** Values as `auto|off`, or each at the beginning of a line of the text, apart from what it means. */
function choicesOf(value: string | undefined, lines: readonly string[]): string[] {
  if (value === undefined) return [];
  if (/^[a-z]+(?:\|[a-z]+)+$/.test(value)) return value.split('|');
  const listed = lines.flatMap((line) => /^([a-z]+) {2,}\S/.exec(line)?.[1] ?? []);
  if (listed.length > 0) return listed;
  return [...(/^(?:[^:;]*: )?([a-z]+) \(default\), (?:or )?([a-z]+)(?: or ([a-z]+))?/.exec(lines[0] ?? '') ?? [])]
    .slice(1)
    .filter((each) => each !== undefined);
}
