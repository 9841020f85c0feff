import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findJournal } from '../../../src/read/sources/journald/journalctl.ts';
import { temporaryFolder } from './temporary-folder.ts';

const inFolder = temporaryFolder();
const machine = '3d1219c7c4c5404aaa1f6d2a48adfda4';
let each = 0;
let path: (...parts: string[]) => string;
let directories: string[];
let searchPath: string;

beforeEach(() => {
  const name = String(each++);
  path = (...parts) => inFolder(name, ...parts);
  directories = [path('var'), path('run')];
  searchPath = `${path('none')}:${path('bin')}`;
  file('bin/journalctl', 0);
  chmodSync(path('bin/journalctl'), 0o755);
});

function file(name: string, written: number): void {
  mkdirSync(dirname(path(name)), { recursive: true });
  writeFileSync(path(name), '');
  utimesSync(path(name), written, written);
}

test('a journal that lasts until the next reboot is found', () => {
  mkdirSync(path('var', machine), { recursive: true });
  file(`run/${machine}/system.journal`, 1);
  expect(findJournal({ directories, searchPath })).toEqual({ directory: path('run') });
});

test.each([
  [1, 2, 'run'],
  [2, 1, 'var'],
  [1, 1, 'var'],
])('of two journals, the one with the latest write is found: %i, %i', (inVar, inRun, expected) => {
  file(`var/${machine}/system.journal`, inVar);
  file(`var/${machine}/system@old.journal`, 0);
  file(`run/${machine}/system.journal`, inRun);
  expect(findJournal({ directories, searchPath })).toEqual({ directory: path(expected) });
});

test("the machine's own folder is found", () => {
  file(`run/${machine}/system.journal`, 1);
  const directory = path('run', machine);
  expect(findJournal({ directories: [directory], searchPath })).toEqual({ directory });
});

test('no journal is found without journalctl', () => {
  file(`var/${machine}/system.journal`, 1);
  const nowhere = findJournal({ directories, searchPath: path('var') });
  expect(nowhere).toEqual({ reason: expect.stringContaining('journalctl') });
  chmodSync(path('bin/journalctl'), 0o644);
  expect(findJournal({ directories, searchPath })).toEqual(nowhere);
});
