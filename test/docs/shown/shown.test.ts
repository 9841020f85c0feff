import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentPaths, root, textOf } from '../documents.ts';
import { recordersOf, shownBlocks, unmarked, withOutputs } from './marks.ts';
import { outputs } from './outputs.ts';

const pages = documentPaths().map((path) => ({ path, text: textOf(path) }));
const shown = pages.flatMap(({ path, text }) => shownBlocks(text).map((block) => ({ name: block.name, path, block })));

test('the output of a command on a page has a mark that names its row or its test', () => {
  const without = pages.flatMap(({ path, text }) =>
    unmarked(text, ['text', 'console', 'json']).map((line) => `${path}: ${line}`),
  );
  expect(without).toEqual([]);
  const recorders = pages.flatMap(({ text }) => recordersOf(text));
  expect(recorders.length).toBeGreaterThan(0);
  expect(recorders.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('each output is shown once', () => {
  expect(shown.map(({ name }) => name).toSorted()).toEqual(Object.keys(outputs).toSorted());
});

test.concurrent.each(shown)(
  '$path shows the real output of its commands (npm run update -- outputs): $name',
  async ({ name, block }) => {
    expect(block.lines.join('').length).toBeGreaterThan(40);
    expect(block.lines).toEqual(await outputs[name]?.(block));
  },
);

const page = (line: string): string =>
  `a\n\n<!-- output: b -->\n\`\`\`text\n${line}\n\`\`\`\n\n\`\`\`text\nc\n\`\`\`\n`;

test('an output replaces its own block and no other', () => {
  expect(withOutputs(page('old'), new Map([['b', ['new $& one']]]))).toBe(page('new $& one'));
  expect(unmarked(page('old'), ['text'])).toEqual(['c']);
});
