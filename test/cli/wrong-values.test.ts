import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/options/program.ts';
import { program, sample } from './program.ts';

const nonsense = 'no//such value';

/** Options that take any text, and options whose value is looked up when the command runs. */
const free = new Set(
  `as as-group as-uid explain filter policy selector token
   certificate-authority cluster context kubeconfig user
   audit baseline config db events pods policies`.split(/\s+/),
);

function commandsBelow(command: Command, words: readonly string[] = []): [string, Command][] {
  const below = command.commands.flatMap((sub) => commandsBelow(sub, [...words, sub.name()]));
  return words.length === 0 ? below : [[words.join(' '), command], ...below];
}

/** A message about settings names at most 25 of them. */
const together = 20;

const withValues = commandsBelow(createProgram()).flatMap(([path, { options }]): [string, string[]][] => {
  const names = options.flatMap(({ long, required }) => (required && long ? [long.slice('--'.length)] : []));
  const checked = names.filter((name) => !free.has(name));
  return Array.from({ length: Math.ceil(checked.length / together) }, (_, part) => [
    path,
    checked.slice(part * together, (part + 1) * together),
  ]);
});
const operands: Readonly<Record<string, string>> = { replay: sample('policy-deny.log'), report: '/dev/null' };

describe.concurrent('values that an option cannot have', () => {
  test.each(withValues)('%s names each of %j, with exit status 2', async (path, options) => {
    const { status, out, err } = await program([
      ...path.split(' '),
      ...options.map((name) => `--${name}=${nonsense}`),
      ...(operands[path] === undefined ? [] : [operands[path]]),
    ]);
    expect([status, out]).toStrictEqual([2, '']);
    expect(options.filter((name) => !err.includes(`--${name}`))).toStrictEqual([]);
  });
});
