import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allCommands } from './all-commands.ts';
import { root, textOf } from './documents.ts';
import { elided, fill } from './fillings.ts';
import { outcomes, ruleOf, rules } from './rules.ts';

const commands = allCommands();
const filled = commands.map(({ text }) => fill(text));

/** The wrong commands, with their places. */
function wrong(isWrong: (text: string) => boolean): string[] {
  return commands
    .filter(({ text }) => isWrong(fill(text)))
    .map(({ document, line, text }) => `${document}:${line}: ${text}`);
}

test('all commands are found', () => {
  for (const from of ['block', 'sentence', 'advice']) expect(commands.some((each) => each.from === from)).toBe(true);
  expect(commands.length).toBeGreaterThan(400);
});

test('each command has a rule by which it is run; a command without one needs a row in test/docs/rules.ts', () => {
  const without = commands.filter((command) => ruleOf(command) === undefined);
  expect(without.map(({ document, line, text }) => `${document}:${line}: ${text}`)).toEqual([]);
});

test.each(rules)('each rule is used: $name', (rule) => {
  expect(commands.some((command) => ruleOf(command) === rule)).toBe(true);
});

test.each(outcomes)('the outcome is used: $command', (outcome) => {
  expect(filled.some((text) => outcomes.find(({ command }) => text.includes(command)) === outcome)).toBe(true);
});

test.each(Object.keys(elided))('each gap is used: %s', (text) => {
  expect(commands.some((command) => command.text === text)).toBe(true);
});

test('a command that is left out, or whose exit status is not 0, has a reason', () => {
  expect(rules.filter(({ way, reason }) => way === 'leave' && reason === undefined)).toEqual([]);
  expect(outcomes.filter(({ exits, reason }) => exits !== undefined && reason === undefined)).toEqual([]);
});

test('no gap is left open', () => {
  expect(wrong((text) => text.includes('…'))).toEqual([]);
});

test('the shell can parse each command that no test runs', () => {
  const left = commands.filter((command) => ruleOf(command)?.way === 'leave').map(({ text }) => fill(text));
  expect(left.filter((text) => spawnSync('bash', ['-n'], { input: text }).status !== 0)).toEqual([]);
});

test('paths in this repository exist', () => {
  // After these verbs of kubectl, deploy/NAME is a Deployment.
  const path = /(?<![\w./:-]|(?:logs|restart|exec|env) )(?:deploy|docs|samples|scripts|src|test|\.ci)\/[\w./-]+/g;
  expect(wrong((text) => (text.match(path) ?? []).some((name) => !existsSync(join(root, name))))).toEqual([]);
});

test('scripts of npm exist', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  expect(
    wrong((text) => {
      const [, name] = /^npm (?:run )?([\w:]+)/.exec(text) ?? [];
      return name !== undefined && name !== 'ci' && !Object.hasOwn(scripts, name);
    }),
  ).toEqual([]);
});

test('each argument of npm run bench and npm run update exists', () => {
  const updates = textOf('scripts/update.mjs');
  expect(
    wrong((text) => {
      const [, script, name = ''] = /npm run (bench|update) -- (\w+)/.exec(text) ?? [];
      return script === 'bench'
        ? !existsSync(join(root, `test/bench/${name}.ts`))
        : script === 'update' && !new RegExp(`^ {2}${name}[:,]`, 'm').test(updates);
    }),
  ).toEqual([]);
});
