import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** A command that installs packages, in a shell or as arguments of a process. */
const installs =
  /\bnpm (?:--?[a-z]\S* (?:[^-\s]\S* )?)*(?:ci|i|install|add|update|rebuild)\b(?! registry)|\['(?:ci|i|install|add|update|rebuild)', '-/;

/** Text about `npm ci` that is not a command. */
const onlyNamed = /\(npm ci\), once|npm ci failed|allowScripts/;

function installing(text: string): string[] {
  return text.split('\n').filter((line) => installs.test(line) && !onlyNamed.test(line));
}

test('no command of the checkout lets a package run a script while it is installed', () => {
  const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  const files = stdout.split('\0').filter((name) => /\.(?:mjs|cjs|ts|sh|ya?ml|md)$|^Dockerfile|^\.ci\//.test(name));
  const found = files
    // The second file installs packages of Debian and Python.
    .filter((name) => !['test/scripts/install-scripts.test.ts', 'test/programs/install.ts'].includes(name))
    .flatMap((name) => installing(readFileSync(join(root, name), 'utf8')).map((line) => `${name}: ${line.trim()}`));
  expect(found.length).toBeGreaterThan(6);
  expect(found.filter((line) => !line.includes('--ignore-scripts'))).toEqual([]);
});

test.each([
  'RUN npm ci',
  'npm --prefix x install y',
  'npm --quiet ci',
  "spawnSync('npm', ['ci', '--no-audit'])",
  'npm i x',
])('a command that allows scripts is found: %s', (line) => expect(installing(line)).toEqual([line]));
