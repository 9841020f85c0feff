/** The options of a command as a table: parsing, errors, help, completion and the manual page are made from its rows. */
import { type Command, Option } from 'commander';
import * as z from 'zod/mini';
import { optionName } from '../../agent/config/settings.ts';
import { didYouMean } from '../../agent/config/suggest.ts';
import type { SettingRow } from '../../agent/config/values.ts';
import { commandPath, UsageError } from './command.ts';

/** A row of settings is one too, but its schema is for the types of a config file. */
export interface OptionRow extends Partial<Omit<SettingRow, 'list' | 'help'>> {
  /** One letter. */
  readonly short?: string;
  readonly help: string;
  /** The option may be repeated, and all its values count; otherwise the last one does. An expression separates values within a text. */
  readonly list?: RegExp | true;
}

export type OptionTable = Readonly<Record<string, OptionRow>>;

type ItemOf<Row> = Row extends { schema: infer Schema extends z.ZodMiniType }
  ? z.output<Schema>
  : Row extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string;
type ValueOf<Row> = Row extends { value: string }
  ? Row extends { list: true | RegExp }
    ? readonly ItemOf<Row>[]
    : Row extends { default: string }
      ? ItemOf<Row>
      : ItemOf<Row> | undefined
  : boolean;

export type OptionValues<Table> = { readonly [Key in keyof Table]: ValueOf<Table[Key]> };

/** `group`: the title above these options in the help. */
export function optionsOf(table: OptionTable, group?: string): Option[] {
  return Object.entries(table).map(([key, row]) => {
    const made = optionOf(key, row);
    return group === undefined ? made : made.helpGroup(`${group}:`);
  });
}

function optionOf(key: string, { flag = optionName(key), short, value, help, list, ...row }: OptionRow): Option {
  const repeat = list === undefined ? '' : `${help === '' ? '' : '; '}may be repeated`;
  const start = row.default ? `. Default: ${row.default}` : '';
  const flags = `${short === undefined ? '' : `-${short}, `}--${flag}${value === undefined ? '' : ` <${value}>`}`;
  const made = new Option(flags, `${help}${repeat}${start}${row.env ? ` (${row.env})` : ''}`);
  const choices = row.choices ?? (/^[a-z]+(?:\|[a-z]+)+$/.test(value ?? '') ? value?.split('|') : undefined);
  if (choices !== undefined) made.argChoices = [...choices];
  return list === undefined ? made : made.argParser<string[] | undefined>((text, before) => [...(before ?? []), text]);
}

/**
 * Checks all options before it throws, so that one `UsageError` lists all that is wrong. `use` adds problems of combinations; its result is
 * ignored if there are any. `preset`: a text that replaces a missing option, before its default.
 */
export function readOptions<Table extends OptionTable, Result>(
  command: Command,
  table: Table,
  use: (values: OptionValues<Table>, problems: string[]) => Result,
  preset: (key: keyof Table & string) => string | undefined = () => undefined,
): Result {
  const problems: string[] = [];
  const values = Object.entries(table).map(([key, row]) => {
    const given = givenOn(command, row.flag ?? optionName(key)) ?? preset(key);
    if (row.value === undefined) return [key, given === true];
    const { list } = row;
    if (list !== undefined) {
      // An option of this name that counts once may stand behind another command.
      const texts = [(given ?? []) as string | readonly string[]].flat();
      const items = list === true ? texts : texts.flatMap((text) => text.split(list));
      return [key, items.map((text) => parse(key, row, text, problems)).filter((item) => item !== undefined)];
    }
    const value = typeof given === 'string' ? parse(key, row, given, problems) : undefined;
    return [key, value ?? (row.default === undefined ? undefined : parse(key, row, row.default, problems))];
  });
  const result = use(Object.fromEntries(values) as OptionValues<Table>, problems);
  if (problems.length > 0) throw new UsageError(problems, commandPath(command));
  return result;
}

/** An option may stand behind the command or behind one above it: `kubectl drops -n shop why web-0`. */
export function givenOn(command: Command | null, flag: string): unknown {
  const own = command?.options.find(({ long }) => long === `--${flag}`)?.attributeName() ?? '';
  return command === null ? undefined : (command.getOptionValue(own) ?? givenOn(command.parent, flag));
}

/** The longest value that an error repeats. */
const longest = 80;

function parse(key: string, row: OptionRow, text: string, problems: string[]): unknown {
  const problem = (message = ''): void => {
    const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
    problems.push(`--${row.flag ?? optionName(key)}${shown === '' ? '' : ` ${shown}`}: ${message}`);
  };
  if (row.schema !== undefined) {
    const { success, data, error } = row.schema.safeParse(text);
    return success ? data : problem(error.issues[0]?.message);
  }
  const { choices } = row;
  if (choices === undefined || choices.includes(text)) return text;
  return problem(`must be one of ${choices.join(', ')}${didYouMean(text, choices)}`);
}

/** Converts a text; undefined from `read` is an error. */
export function converted<Value>(read: (text: string) => Value | undefined, error: string) {
  return z.pipe(
    z.string(),
    z.transform((text, { issues }): Value => {
      const value = read(text);
      if (value !== undefined) return value;
      issues.push({ code: 'custom', message: error, input: text });
      return z.NEVER;
    }),
  );
}

export function checked(isRight: (text: string) => boolean, error: string) {
  return converted((text) => (isRight(text) ? text : undefined), error);
}

export function wholeNumber(least: number, most: number) {
  return converted(
    (text) => (/^\d{1,6}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined),
    `must be a whole number from ${least} to ${most}`,
  );
}
