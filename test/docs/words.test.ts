import { describe, expect, test } from 'vitest';
import { causes } from '../../src/incidents/catalogue/catalogue.ts';
import { program } from '../commands/program.ts';
import { documentPaths, textOf } from './documents.ts';
import { proseOf, retiredIn } from './words.ts';

test.each([...documentPaths(), 'CHANGELOG.md'])('%s has no retired word in its sentences', (document) => {
  // Titles of causes stand in Events.
  const text = causes.reduce((rest, { title }) => rest.replaceAll(title, ''), textOf(document));
  expect(retiredIn(proseOf(text)).map((found) => `${document}:${found}`)).toEqual([]);
});

test.each([[], ['run'], ['replay'], ['doctor'], ['why'], ['suggest'], ['config']])(
  '--help of %s has no retired word',
  async (...command) => {
    const { out } = await program([...command, '--help']);
    expect(out).toContain('Usage: ');
    expect(retiredIn(out)).toEqual([]);
  },
);

describe('retired words of a text', () => {
  test.each([
    ['It tells\nwhat nobody said.', ['1: tells', '2: nobody', '2: said']],
    ['a waiting\nroom', ['1: waiting\nroom']],
    ['a mirror Pod, a JSON pointer, the culprit', ['1: culprit']],
    ['`told` and "somebody told" and [a](tells.md)\n```text\ntold\n```\ntold', ['5: told']],
  ])('%j', (text, found) => {
    expect(retiredIn(proseOf(text)).map((each) => each.split(';')[0])).toEqual(found);
  });
});
