import type { Command } from './commands.ts';
import { fill } from './fillings.ts';
import { tablesOf } from '../tables.ts';

/**
 * - `run`: to its end, on the node of test/e2e/docs.
 * - `set`: gives a variable of the shell, which the commands after it in its document see.
 * - `start`: goes on beside the commands that follow in its document, and must end with 0 when it is told to.
 * - `stop`: never ends by itself; it is interrupted after a second, and must have said nothing of its arguments until then.
 * - `help`: a command that is only named, without its arguments: its help must be there.
 * - `leave`: is not run, for the reason given.
 */
export type Way = 'run' | 'set' | 'start' | 'stop' | 'help' | 'leave';

export interface Rule {
  readonly name: string;
  /** Matches the filled command. */
  readonly takes: RegExp;
  readonly way: Way;
  /** Why it is left. */
  readonly reason?: string;
}

const tables = tablesOf(import.meta.filename) as {
  rules: (Omit<Rule, 'takes'> & { takes: string })[];
  outcomes: (Omit<Outcome, 'prints'> & { prints?: string })[];
};

/** The first rule that takes a command has it. */
export const rules: readonly Rule[] = tables.rules.map(({ takes, ...rule }) =>
  Object.assign(rule, { takes: new RegExp(takes) }),
);

/** The expected outcome of a command, where that is more than exit status 0. */
export interface Outcome {
  /** The filled command, or the part of it that matters. */
  readonly command: string;
  readonly exits?: readonly number[];
  /** Why another exit status than 0 is right. */
  readonly reason?: string;
  /** Matches either output. */
  readonly prints?: RegExp;
  /** Shell that makes the state which the document speaks of. */
  readonly before?: string;
  /** It takes away what others need. */
  readonly isLast?: boolean;
  /** For how long it may be tried until it is as expected, in seconds. */
  readonly within?: number;
}

export const outcomes: readonly Outcome[] = tables.outcomes.map(({ prints, ...row }) =>
  Object.assign(row, prints === undefined ? {} : { prints: new RegExp(prints, 'm') }),
);

export function ruleOf({ text }: Command): Rule | undefined {
  const filled = fill(text);
  return rules.find(({ takes }) => takes.test(filled));
}

export function outcomeOf(filled: string): Outcome | undefined {
  return outcomes.find(({ command }) => filled.includes(command));
}
