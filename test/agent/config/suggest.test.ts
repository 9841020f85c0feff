import { expect, test } from 'vitest';
import { nearest, suggest } from '../../../src/agent/config/suggest.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { words: [string, string | undefined][] };

const names = ['stateDir', 'podLogs', 'podCache', 'node', 'kubeconfig'];

test.each([...tables.words, ['x'.repeat(100_000), undefined]])(
  'the setting that is nearest to %j',
  (word, expected) => {
    expect(nearest(word, names)).toBe(expected);
  },
);

test('the nearest one wins, then the first', () => {
  expect(nearest('podLog', ['podCache', 'podLogs'])).toBe('podLogs');
  expect(nearest('ab', ['ax', 'bb'])).toBe('ax');
});

test('no suggestion is made in words, or not at all', () => {
  expect(suggest('nodes', names)).toBe('; did you mean node?');
  expect(suggest('colour', names)).toBe('');
});
