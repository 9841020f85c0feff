import { expect, test } from 'vitest';
import { nearest, didYouMean } from '../../../src/agent/config/suggest.ts';

const tables: { words: [string, string | undefined][] } = {
  // Words, and the setting of suggest.test.ts that is nearest to each.
  words: [
    ['stateDir', 'stateDir'],
    ['state-dir', 'stateDir'],
    ['STATE_DIR', 'stateDir'],
    ['stateDri', 'stateDir'],
    ['satetDir', 'stateDir'],
    ['sateDir', 'stateDir'],
    ['sstateDir', 'stateDir'],
    ['statedirs', 'stateDir'],
    ['state', 'stateDir'],
    ['nod', 'node'],
    ['noed', 'node'],
    ['kubeconf', 'kubeconfig'],
    ['xyz', undefined],
    ['no', undefined],
    ['', undefined],
    ['---', undefined],
  ],
};

const names = ['stateDir', 'podLogs', 'podCache', 'node', 'kubeconfig'];

test.each([...tables.words, ['x'.repeat(100_000), undefined]])(
  'suggests the nearest setting for %j',
  (word, expected) => {
    expect(nearest(word, names)).toBe(expected);
  },
);

test('the nearest one wins, then the first', () => {
  expect(nearest('podLog', ['podCache', 'podLogs'])).toBe('podLogs');
  expect(nearest('ab', ['ax', 'bb'])).toBe('ax');
});

test('a suggestion is a question, or empty', () => {
  expect(didYouMean('nodes', names)).toBe('; did you mean node?');
  expect(didYouMean('colour', names)).toBe('');
});
