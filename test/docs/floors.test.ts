import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { floors } from '../../oxlint.config.ts';
import { filesBelow, textOf } from './documents.ts';

const names = Object.keys(floors);

test('architecture.md names each arrow between the floors of src, and their number', () => {
  const drawn = /```text\n([^`]*→[^`]*)```/.exec(textOf('docs/architecture.md'))?.[1] ?? '';
  const lines = names.map((floor) => `${floor}${importedBy(floor)}`);
  expect(
    drawn
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +/, ' ')),
  ).toEqual(lines);
  const count = lines.flatMap((line) => line.split(' ').slice(2)).length;
  expect(textOf('docs/architecture.md')).toContain(`, ${count} arrows in all.`);
});

function importedBy(floor: string): string {
  const imported = new Set(filesBelow(`src/${floor}`, '.ts').flatMap(floorsIn));
  const others = names.filter((name) => name !== floor && imported.has(name));
  return others.length === 0 ? '' : ` → ${others.join(' ')}`;
}

function floorsIn(file: string): (string | undefined)[] {
  const imports = textOf(file).matchAll(/(?:from|import\() ?'(\.[^']+)'/g);
  return Array.from(imports, ([, path = '']) => relative('src', join(dirname(file), path)).split('/')[0]);
}
