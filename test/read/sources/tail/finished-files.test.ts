import { expect, test } from 'vitest';
import { isCopy, startOfFile } from '../../../../src/read/sources/tail/relation.ts';
import { createFinishedFiles, type FinishedFile } from '../../../../src/read/sources/tail/candidate.ts';
import type { Identity } from '../../../../src/read/sources/tail/open-log.ts';

const long = 'x'.repeat(64);

test.each<[string, string, string, boolean]>([
  ['both empty', '', '', false],
  ['one empty', '', long, false],
  ['equal and short', 'IN=1\n', 'IN=1\n', true],
  ['short, and the beginning of the other', 'IN=1\n', 'IN=1\nIN=2\n', false],
  ['63 bytes, and the beginning of the other', long.slice(1), `${long}\n`, false],
  ['64 bytes, and the beginning of the other', long, `${long}\n`, true],
  ['equal and long', `${long}y`, `${long}y`, true],
  ['other in the last byte', `${long}y`, `${long}z`, false],
  ['other in the first byte', `y${long}`, `z${long}`, false],
])('one is a copy of the other, judged by their beginnings: %s', (_, a, b, expected) => {
  expect(isCopy(Buffer.from(a), Buffer.from(b))).toBe(expected);
  expect(isCopy(Buffer.from(b), Buffer.from(a))).toBe(expected);
});

test('finished files that were empty are recognized by their inode as long as they are empty', () => {
  const done = createFinishedFiles();
  const empty = file('1', '');
  done.add(empty);
  expect(done.find(identity('1'), Buffer.from(''))).toBe(empty);
  expect(done.find(identity('1'), Buffer.from('a'))).toBeUndefined();
});

test('finished files are forgotten if they are missing in two looks in a row', () => {
  const done = createFinishedFiles();
  done.add(file('1', long));
  const seen = [Buffer.from(`${long}more`)];
  for (const looks of [[], seen, [], seen, []]) done.keepOnly(looks);
  expect(done.hasCopyOf(Buffer.from(long))).toBe(true);
  done.keepOnly([]);
  expect(done.hasCopyOf(Buffer.from(long))).toBe(false);
});

test('the oldest of more than 4,096 finished files are forgotten', () => {
  const done = createFinishedFiles();
  for (let inode = 0; inode < 4097; inode++) done.add(file(String(inode), 'abc'));
  const known = (inode: number): boolean => done.find(identity(String(inode)), Buffer.from('abc')) !== undefined;
  expect([known(0), known(1), known(4096)]).toStrictEqual([false, true, true]);
});

function identity(inode: string): Identity {
  return { device: '1', inode };
}

function file(inode: string, head: string): FinishedFile {
  return { identity: identity(inode), head: Buffer.from(head), place: startOfFile };
}
