import { describe, expect, test } from 'vitest';
import { play, type Played, played } from '../e2e/docs/played.ts';
import { problemWith } from '../e2e/docs/verdict.ts';
import { allCommands } from './all-commands.ts';

describe('a played program', () => {
  const program: Played = {
    source: 'here',
    forms: [
      { words: /^get \w+$/, options: { '-o': /^(?:yaml|json)$/, '--all': undefined, '--in': /./ }, prints: 'NAME' },
      { words: /^stop$/ },
    ],
  };

  test.each(['get nodes', '-o yaml get nodes', 'get nodes -o json --all', 'get --in a nodes', 'get --in=a nodes'])(
    'knows %s',
    (line) => {
      expect(play(program, line.split(' '))).toBe('NAME');
    },
  );

  test.each([
    'get',
    'gets nodes',
    'get nodes -o wide',
    'get nodes --al',
    'get nodes --all=a',
    'stop --all',
    'get nodes --in',
  ])('does not know %s', (line) => {
    expect(play(program, line.split(' '))).toBeUndefined();
  });

  test('a played program prints nothing unless its row says what', () => {
    expect(play(program, ['stop'])).toBe('');
  });
});

test.each(Object.entries(played))(
  '%s is still named in a document, and its row says where its arguments are from',
  (name, { source }) => {
    expect(source).toMatch(/^https:\/\/|\(\d\)/);
    expect(allCommands().filter(({ text }) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text))).not.toEqual([]);
  },
);

describe('the problem with how a command ended', () => {
  const well = { code: 0, stdout: 'NAME\n', stderr: '' };

  test.each([
    [well, undefined, undefined],
    [{ ...well, code: 1 }, undefined, 'ended with 1, not with 0'],
    [{ ...well, code: 1 }, { command: '', exits: [0, 1], reason: '' }, undefined],
    [well, { command: '', exits: [1], reason: '' }, 'ended with 0, not with 1'],
    [{ ...well, stderr: 'error: unknown flag: --al' }, undefined, 'was not understood'],
    [{ ...well, stderr: 'bash: line 1: nth: command not found' }, undefined, 'was not understood'],
    [{ ...well, stderr: "iptables: unrecognized option '--al'" }, undefined, 'was not understood'],
    [{ ...well, stderr: 'Warning: it is deprecated' }, undefined, undefined],
    [well, { command: '', prints: /^NAME$/m }, undefined],
    [{ ...well, stdout: '', stderr: 'NAME' }, { command: '', prints: /^NAME$/m }, undefined],
    [well, { command: '', prints: /READY/ }, 'printed nothing like /READY/'],
  ])('%j, expected %j', (outcome, expected, problem) => {
    expect(problemWith(outcome, expected)?.split(':')[0]).toBe(problem);
  });
});
