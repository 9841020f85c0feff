import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findProgramLogs } from '../../../src/sources/tail/follow-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const place = temporaryFolder();

test('files that are there are found, empty ones and links too; folders and what is missing are not', () => {
  writeFileSync(place('a.log'), '');
  symlinkSync(place('a.log'), place('b.log'));
  mkdirSync(place('c.log'));
  const logs = ['a', 'b', 'c', 'd'].map((program) => ({ program, path: place(`${program}.log`) }));
  expect(findProgramLogs(logs)).toEqual(logs.slice(0, 2));
});
