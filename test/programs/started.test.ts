import { expect, test } from 'vitest';
import { allCommands } from '../docs/all-commands.ts';
import { fill } from '../docs/fillings.ts';
import { ruleOf } from '../docs/rules.ts';
import { played } from '../e2e/docs/played.ts';
import { wrappers } from '../e2e/docs/scripts.ts';
import { startedBy, startedByShell } from './started.ts';
import { knownPrograms, table } from './table.ts';

test('each program in a command of a document that the tests run has a row in test/programs/table.ts', () => {
  const values = { folder: '', root: '', bundle: '', port: '', node: '', kubectl: '' };
  const playedOrWritten = new Set([...Object.keys(played), ...Object.keys(wrappers(values))]);
  const programs = new Set(
    allCommands()
      .filter((command) => ruleOf(command)?.way !== 'leave')
      .flatMap(({ text }) => startedByShell(fill(text)))
      .filter((program) => !playedOrWritten.has(program)),
  );
  expect([...programs].filter((program) => !knownPrograms.has(program))).toEqual([]);
  expect(programs.size).toBeGreaterThan(20);
});

test('no program has two rows in test/programs/table.ts, and no row is empty', () => {
  const all = table.flatMap(({ entries }) => entries);
  expect(new Set(all).size).toBe(all.length);
  expect(table.filter(({ entries, uses }) => entries.length === 0 || uses.length === 0)).toEqual([]);
});

test.each([
  ['x.ts', "spawn('alpha', ['beta']); await promisify(execFile)('gamma', [])", 'alpha gamma'],
  ['x.ts', "run('alpha', ['--', 'beta', 'gamma']); other('beta'); run('a sentence')", 'alpha beta'],
  ['x.ts', "run('ip', ['netns', 'exec', name, 'alpha'])", 'alpha ip'],
  ['x.ts', "run('sh', ['-c', 'alpha | beta'])", 'alpha beta sh'],
  ['x.ts', "const script = `alpha ${x}`; run(['bash', '-c', script])", 'alpha'],
  ['x.ts', 'write(`#!/bin/sh\nexec alpha`)', 'alpha sh'],
  ['x.ts', "symlink('/usr/sbin/alpha', x)", 'alpha'],
  ['x.sh', 'alpha one two; A=b beta; x=$(gamma | delta) || eta', 'alpha beta delta eta gamma'],
  ['x.sh', 'mine() { alpha; }; mine; echo "$(beta)"; exec gamma', 'alpha beta gamma'],
  [
    'x.sh',
    "if alpha; then command -v beta; fi; trap 'gamma' EXIT; cat << END\nalpha\n$(delta)\nEND",
    'alpha cat delta',
  ],
])('programs that %s starts: %s', (file, source, expected) => {
  expect(startedBy(file, source).toSorted().join(' ')).toBe(expected);
});
