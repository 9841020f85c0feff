import { type Command, CommanderError } from 'commander';
import { createDrops, createProgram } from '../../src/cli/options/program.ts';

/** The command that the program would run for these words, with its options read. `kubectl drops` may be the first word. */
export function parsed(...words: readonly string[]): Command {
  const isPlugin = words[0] === 'kubectl drops';
  const root = isPlugin ? createDrops('kubectl drops') : createProgram();
  let found: Command | undefined;
  const attach = (command: Command): void => {
    if (isPlugin || command.commands.length === 0 || command.name() === 'drops')
      command.action(() => void (found = command));
    command.configureOutput({ writeOut: () => {} });
    for (const sub of command.commands) attach(sub);
  };
  attach(root);
  root.parse(isPlugin ? words.slice(1) : words, { from: 'user' });
  if (found === undefined) throw new Error('no command runs');
  return found;
}

/** The help of a command, in the width for output to a file. */
export function helpOf(...path: readonly string[]): string {
  let command = createProgram();
  for (const name of path) {
    const sub = command.commands.find((each) => each.name() === name);
    if (sub === undefined) throw new Error(`there is no command ${name}`);
    command = sub;
  }
  return command.helpInformation();
}

/** Whether these words ask for help. */
export function asksForHelp(...words: readonly string[]): boolean {
  try {
    parsed(...words);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0;
    throw error;
  }
  return false;
}
