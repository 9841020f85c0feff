import { expect, test } from 'vitest';
import { allCommands } from './all-commands.ts';
import type { Command } from './commands.ts';
import { textOf } from './documents.ts';
import { ruleOf } from './rules.ts';

/** Patterns of the first column of the page's table: `…` stands for anything. */
const patterns = textOf('docs/other-projects.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`(.+?)`/g)].map(([, pattern = '']) => pattern));

const ours =
  /kube-netfilter-tailer|first-drop|\bdeploy\/(?:monitoring|overlays)|^docker |^helm template$|apply -k|delete -k|delete pod\b/;
const changes = /^kubectl (?:-n \S+ )?(?:annotate|apply|create|delete|edit|patch|scale|set) \S/;

/** Whether a command changes another project, or the rules leave it to that project's program. */
function isForOthers(command: Command): boolean {
  if (ours.test(command.text)) return false;
  const rule = ruleOf(command)?.name ?? '';
  return rule === "other projects' programs" || rule === 'objects of the Tigera operator' || changes.test(command.text);
}

const commands = allCommands().filter(isForOthers);
const matcherOf = (pattern: string): RegExp =>
  new RegExp(
    `(?:^|; |&& )${pattern
      .split('…')
      .map((part) => RegExp.escape(part))
      .join('.*')}`,
    's',
  );

test.each(patterns)('the row %s has a command', (pattern) => {
  expect(commands.some(({ text }) => matcherOf(pattern).test(text))).toBe(true);
});

test('each command for another project has a row that says how it was tested', () => {
  const matchers = patterns.map(matcherOf);
  const without = commands.filter(({ text }) => !matchers.some((matcher) => matcher.test(text)));
  expect([...new Set(without.map(({ document, line, text }) => `${document}:${line}: ${text}`))]).toEqual([]);
});
