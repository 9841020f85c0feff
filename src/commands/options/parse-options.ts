/** Parses options of a command line, and finds all that is wrong with them. */
import { parseArgs } from 'node:util';
import { suggest } from '../../config/suggest.ts';

export interface OptionForms {
  readonly [name: string]: { readonly type: 'string' | 'boolean'; readonly short?: string };
}

export interface ParsedOptions {
  /** Of each option with a value that was given, all of them in order. */
  values: Readonly<Record<string, readonly string[]>>;
  /** The value of an option that counts once: the last one given. */
  last: (name: string) => string | undefined;
  /** Options without a value that were given. */
  switches: ReadonlySet<string>;
  operands: readonly string[];
  /** All that is wrong, and not only the first of it, as `parseArgs` in strict mode says. */
  problems: string[];
}

/** Reads options of these forms. `takesOperands`: what is no option is allowed. */
export function parseOptions(args: readonly string[], forms: OptionForms, takesOperands: boolean): ParsedOptions {
  const values: Record<string, string[]> = {};
  const switches = new Set<string>();
  const operands: string[] = [];
  const problems: string[] = [];
  const { tokens } = parseArgs({ args: [...args], strict: false, tokens: true, options: forms });
  /** Where the value of an option stands that was refused itself. */
  let orphan: number | undefined;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (token.index === orphan) continue;
      if (takesOperands) operands.push(token.value);
      else problems.push(`${token.value}: is no option; each begins with --`);
      continue;
    }
    const { name, rawName, value, inlineValue } = token;
    const type = Object.hasOwn(forms, name) ? forms[name]?.type : undefined;
    if (type === undefined) {
      // Whether an operand was meant as its value is unknown.
      if (value === undefined && !takesOperands) orphan = token.index + 1;
      const names = Object.keys(forms).map((each) => `--${each}`);
      problems.push(`${rawName}: there is no such option${rawName.startsWith('--') ? suggest(rawName, names) : ''}`);
    } else if (type === 'boolean') {
      if (value === undefined) switches.add(name);
      else problems.push(`${rawName}: takes no value`);
    } else if (value === undefined || (!inlineValue && value.startsWith('-') && value !== '-')) {
      // What begins with - is taken for the next option, which may have a value of its own.
      orphan = token.index + 2;
      problems.push(
        `${rawName}: has no value${value === undefined ? '' : `; for one that begins with -: ${rawName}=${value}`}`,
      );
    } else (values[name] ??= []).push(value);
  }
  return { values, last: (name) => values[name]?.at(-1), switches, operands, problems };
}
