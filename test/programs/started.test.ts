import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allCommands } from '../docs/all-commands.ts';
import { filesBelow, root, textOf } from '../docs/documents.ts';
import { fill } from '../docs/fillings.ts';
import { ruleOf } from '../docs/rules.ts';
import { played } from '../e2e/docs/played.ts';
import { wrappers } from '../e2e/docs/scripts.ts';
import { functionsOf, type Start, startedBy, startedByModule, startedByShell } from './started.ts';
import { brought, ofNoPackage, table } from './table.ts';

/** The programs of its examples are made up. */
const own = 'test/programs/started.test.ts';
const files = [
  '.ci/run',
  'deploy/kubectl-plugin/kubectl-drops',
  ...['deploy', 'samples', 'scripts', 'src', 'test'].flatMap((folder) =>
    ['.sh', '.ts', '.mjs'].flatMap((ending) => filesBelow(folder, ending)),
  ),
].filter((file) => file !== own);
const known = new Set([
  ...table.flatMap(({ programs }) => programs),
  ...Object.keys(brought),
  ...Object.keys(ofNoPackage),
]);

function missingIn(starts: readonly Start[]): string[] {
  return starts.filter(({ program }) => !known.has(program)).map(({ program, file }) => `${file} starts ${program}`);
}

test('each program that a source starts by its name has a row in test/programs/table.ts', () => {
  // One script reads another with `.`.
  const functions = new Set(filesBelow('scripts', '.sh').flatMap((file) => functionsOf(textOf(file))));
  const starts = files.flatMap((file) => startedBy(join(root, file)).map(({ program }) => ({ program, file })));
  expect(missingIn(starts.filter(({ program }) => !functions.has(program)))).toEqual([]);
  expect(new Set(starts.map(({ program }) => program)).size).toBeGreaterThan(70);
});

test('so has each in a command of a document that the tests run', () => {
  const values = { folder: '', root: '', bundle: '', port: '', node: '', kubectl: '' };
  const playedOrWritten = new Set([...Object.keys(played), ...Object.keys(wrappers(values))]);
  const starts = allCommands()
    .filter((command) => ruleOf(command)?.way !== 'leave')
    .flatMap(({ document, text }) => startedByShell(document, fill(text)))
    .filter(({ program }) => !playedOrWritten.has(program));
  expect(missingIn(starts)).toEqual([]);
  expect(new Set(starts.map(({ program }) => program)).size).toBeGreaterThan(20);
});

test('no program has two rows, and no row is empty', () => {
  const all = table.flatMap(({ programs, files: paths = [] }) => [...programs, ...paths]);
  expect(new Set(all).size).toBe(all.length);
  expect(
    table.filter(({ programs, files: paths = [], uses }) => programs.length + paths.length === 0 || uses.length === 0),
  ).toEqual([]);
});

function names(starts: readonly Start[]): string[] {
  return starts.map(({ program }) => program).toSorted();
}

describe('what is found in sources', () => {
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
