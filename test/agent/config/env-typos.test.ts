import { expect, test } from 'vitest';
import { envTypos } from '../../../src/agent/config/layer.ts';
import { loadConfig } from '../../../src/agent/config/config.ts';
import { subjectsOf } from '../../subject.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  others: [string, Record<string, string>][];
  typos: [string, string][];
};

test.each(tables.typos)('%s is taken for a typo of %s', (name, meant) => {
  const [typo = '', ...others] = envTypos({ [name]: 'x' });
  expect(subjectsOf([typo, ...others])).toEqual([name]);
  expect(typo).toContain(`${meant}?`);
});

test.each(tables.others)('no warning of %s', (_, env) => {
  expect(envTypos(env)).toEqual([]);
});

test('it is a warning: the program starts', () => {
  const { warnings } = loadConfig({ flags: { node: 'node-a' }, env: { MAX_NODE: '5' }, readText: () => '' });
  expect(subjectsOf(warnings)).toEqual(['MAX_NODE']);
});
