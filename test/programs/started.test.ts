import { describe, expect, test } from 'vitest';
import { allCommands } from '../docs/all-commands.ts';
import { fill } from '../docs/fillings.ts';
import { ruleOf } from '../docs/rules.ts';
import { played } from '../e2e/docs/played.ts';
import { wrappers } from '../e2e/docs/scripts.ts';
import { type Start, startedByModule, startedByShell } from './started.ts';
import { knownPrograms, table } from './table.ts';

const known = knownPrograms();

function missingIn(starts: readonly Start[]): string[] {
  return starts.filter(({ program }) => !known.has(program)).map(({ program, file }) => `${file} starts ${program}`);
}

test('each program in a command of a document that the tests run has a row in test/programs/table.ts', () => {
  const values = { folder: '', root: '', bundle: '', port: '', node: '', kubectl: '' };
  const playedOrWritten = new Set([...Object.keys(played), ...Object.keys(wrappers(values))]);
  const starts = allCommands()
    .filter((command) => ruleOf(command)?.way !== 'leave')
    .flatMap(({ document, text }) => startedByShell(document, fill(text)))
    .filter(({ program }) => !playedOrWritten.has(program));
  expect(missingIn(starts)).toEqual([]);
  expect(new Set(starts.map(({ program }) => program)).size).toBeGreaterThan(20);
});

test('no program has two rows in test/programs/table.ts, and no row is empty', () => {
  const all = table.flatMap(({ programs, files: paths = [] }) => [...programs, ...paths]);
  expect(new Set(all).size).toBe(all.length);
  expect(
    table.filter(
      ({ programs, files: paths = [], wheel, uses }) =>
        (programs.length + paths.length === 0 && !wheel) || uses.length === 0,
    ),
  ).toEqual([]);
});

function names(starts: readonly Start[]): string[] {
  return starts.map(({ program }) => program).toSorted();
}

describe('programs that a source starts', () => {
  test.each([
    ["spawn('alpha', ['beta'])", ['alpha']],
    ["await promisify(execFile)('alpha', [])", ['alpha']],
    ["void child.run('alpha', [])", ['alpha']],
    ["run('alpha', ['--', 'beta', 'gamma'])", ['alpha', 'beta']],
    ["run('ip', ['netns', 'exec', name, 'alpha'])", ['alpha', 'ip']],
    ["run('sh', ['-c', 'alpha | beta'])", ['alpha', 'beta', 'sh']],
    ['const script = `alpha ${x}`; run("bash", ["-c", script])', ['alpha', 'bash']],
    ['write(`#!/bin/sh\nexec alpha`)', ['alpha', 'sh']],
    ["symlink('/usr/sbin/alpha', x); other('beta'); run('a sentence')", ['alpha']],
  ])('%s', (text, expected) => {
    expect(names(startedByModule('x.ts', text))).toEqual(expected);
  });

  test.each([
    ['alpha one two; A=b beta', ['alpha', 'beta']],
    ['x=$(alpha | beta) || gamma', ['alpha', 'beta', 'gamma']],
    ['mine() { alpha; }; mine; echo "$(beta)"', ['alpha', 'beta']],
    ['exec alpha', ['alpha']],
    ['if alpha; then command -v beta; fi', ['alpha']],
    ["trap 'alpha' EXIT; cat << END\nalpha\n$(beta)\nEND", ['beta', 'cat']],
  ])('%s', (text, expected) => {
    expect(names(startedByShell('x.sh', text))).toEqual(expected);
  });
});
