/** Candidates for the end of a command line, from the tree of commands alone. */
import type { Command, Option } from 'commander';

export interface CompletionWord {
  readonly word: string;
  readonly help: string;
}

/** `files`: the shell knows them. `names`: the cluster or the kubeconfig has them; `kind` is the placeholder of the help. */
export type Completion =
  | { readonly kind: 'words'; readonly words: readonly CompletionWord[] }
  | { readonly kind: 'files' }
  | {
      readonly kind: 'names';
      readonly of: NameKind;
      readonly before: string;
      readonly words: readonly CompletionWord[];
    };

const nameKinds = ['NAMESPACE', 'NODE', 'POD', 'END', 'CONTEXT', 'CLUSTER', 'USER'] as const;
export type NameKind = (typeof nameKinds)[number];

export interface CompletedLine {
  readonly completion: Completion;
  /** The beginning of the word that is completed. */
  readonly typed: string;
  /** The values of options before it, by their names without dashes. */
  readonly given: ReadonlyMap<string, string>;
}

/** `words`: all behind the program's name; the last one is completed, and may be empty. */
export function completionOf(root: Command, words: readonly string[]): CompletedLine {
  let command = root;
  let waiting: Option | undefined;
  let operands = 0;
  const given = new Map<string, string>();
  const take = (option: Option, value: string): void => void given.set(option.long?.slice(2) ?? '', value);
  for (const word of words.slice(0, -1)) {
    // bash makes a word of each "=".
    if (word === '=') continue;
    const option = waiting === undefined ? optionOf(command, word) : undefined;
    if (waiting !== undefined) {
      take(waiting, word);
      waiting = undefined;
    } else if (option !== undefined) {
      const value = valueIn(option, word);
      if (value !== undefined || !option.required) take(option, value ?? 'true');
      else waiting = option;
    } else if (!word.startsWith('-')) {
      const sub = operands === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (sub === undefined) operands++;
      command = sub ?? command;
    }
  }
  const last = words.at(-1) ?? '';
  const typed = last === '=' ? '' : last;
  if (waiting !== undefined) return { completion: valuesOf(waiting, '', typed), typed, given };
  const option = typed.startsWith('--') && typed.includes('=') ? optionOf(command, typed) : undefined;
  if (option !== undefined) {
    const before = `${option.long}=`;
    return { completion: valuesOf(option, before, typed), typed, given };
  }
  if (typed.startsWith('-')) return { completion: { kind: 'words', words: optionWords(command) }, typed, given };
  return { completion: operandsOf(command, operands), typed, given };
}

function optionOf(command: Command | null, word: string): Option | undefined {
  if (command === null || !word.startsWith('-')) return undefined;
  const [name] = word.split('=', 1);
  const own = command.options.find(({ long, short }) => long === name || short === name || isJoined(short, word));
  return own ?? optionOf(command.parent, word);
}

/** `-nshop` */
function isJoined(short: string | undefined, word: string): boolean {
  return short !== undefined && !word.startsWith('--') && word.startsWith(short);
}

function valueIn({ short, required }: Option, word: string): string | undefined {
  const at = word.indexOf('=');
  if (at >= 0) return word.slice(at + 1);
  return required && short !== undefined && !word.startsWith('--') && word.length > short.length
    ? word.slice(short.length)
    : undefined;
}

function valuesOf(option: Option, before: string, typed: string): Completion {
  // After a comma, the next value of a list begins.
  const start = before + typed.slice(before.length, typed.lastIndexOf(',') + 1);
  const words = (option.argChoices ?? []).map((choice) => ({ word: start + choice, help: '' }));
  if (words.length > 0) return { kind: 'words', words };
  return placeholder(/<([^<>]{0,64})>/.exec(option.flags)?.[1] ?? '', start, []);
}

function placeholder(name: string, before: string, words: readonly CompletionWord[]): Completion {
  const of = nameKinds.find((each) => each === name);
  if (of !== undefined) return { kind: 'names', of, before, words };
  return /^(?:FILE|DIR|ROWS|LOG)\b/.test(name) ? { kind: 'files' } : { kind: 'words', words };
}

function optionWords(command: Command): CompletionWord[] {
  const help = [{ word: '--help', help: 'this help' }];
  const lineage: Command[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) lineage.push(each);
  const options = lineage.flatMap(({ options: own }) => own);
  const words = options.map(({ long, description }) => ({ word: long ?? '', help: shortened(description) }));
  return [...new Map([...words, ...help].toReversed().map((each) => [each.word, each])).values()].toReversed();
}

function operandsOf(command: Command, operands: number): Completion {
  const { commands, registeredArguments: all } = command;
  const argument = all[operands] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  const subs = operands === 0 ? commands.map((sub) => ({ word: sub.name(), help: shortened(sub.summary()) })) : [];
  if (argument?.argChoices !== undefined)
    return { kind: 'words', words: argument.argChoices.map((word) => ({ word, help: '' })) };
  return placeholder(argument?.name() ?? '', '', subs);
}

const longest = 60;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
