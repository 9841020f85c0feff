import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { siblingsOf } from '../../../../src/read/sources/tail/siblings.ts';
import { asUnprivileged } from './as-unprivileged.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const tables: { rotated: [string, string[], string[]][] } = {
  // Endings of the names of files next to a log, and of those that are its rotated files, oldest first.
  rotated: [
    ['none', ['kern.log'], []],
    [
      'numbers: the higher the older',
      ['.2', '.10', '.500', '.9000', '.1', '.9'],
      ['.9000', '.500', '.10', '.9', '.2', '.1'],
    ],
    ['packed, and not yet', ['.3.gz', '.1', '.2.gz'], ['.3.gz', '.2.gz', '.1']],
    ['while one is packed', ['.1', '.1.gz'], ['.1.gz', '.1']],
    ["logrotate's dateext", ['-20261122', '-20261121.gz', '-20260101'], ['-20260101', '-20261121.gz', '-20261122']],
    [
      "logrotate's dateext with hyphens",
      ['-2026-11-22_09', '-2026-11-22_08', '-2026-11-21.gz'],
      ['-2026-11-21.gz', '-2026-11-22_08', '-2026-11-22_09'],
    ],
    ['packed as nobody here reads it', ['.2.xz', '.1.bz2', '-20261121.zst', '.20261121-101500.lz4'], []],
    ["logrotate's dateext by the hour", ['-2026112110', '-2026112109.gz'], ['-2026112109.gz', '-2026112110']],
    [
      "logrotate's dateext with seconds since 1970",
      ['-20261121-1795200001', '-20261121-1795200000'],
      ['-20261121-1795200000', '-20261121-1795200001'],
    ],
    [
      "the kubelet's",
      ['.20261121-101500', '.20261120-235959.gz', '.20261121-101501'],
      ['.20261120-235959.gz', '.20261121-101500', '.20261121-101501'],
    ],
    [
      'nothing else',
      [
        '.tmp',
        '.bak',
        '.d',
        '2',
        '.1.tmp',
        '.1.gz.tmp',
        '.20261121-101500.tmp',
        '.1.bak',
        '.x1',
        '.12345',
        '-1',
        '.gz',
        '.1~',
      ],
      [],
    ],
  ],
};

const path = temporaryFolder();
let folders = 0;

function folderWith(...names: string[]): string {
  const folder = path(String(++folders));
  mkdirSync(folder);
  for (const name of names) writeFileSync(join(folder, name), '');
  return folder;
}

function namesOf(log: string): string[] {
  return siblingsOf(log).map((sibling) => basename(sibling.path));
}

test.each<[string, string[], string[]]>(tables.rotated)('finds rotated files beside a log: %s', (_, ends, expected) => {
  const folder = folderWith('kern.log', 'kern.log2', 'my-kern.log.1', 'kern.1', ...ends.map((end) => `kern.log${end}`));
  expect(namesOf(join(folder, 'kern.log'))).toStrictEqual(expected.map((end) => `kern.log${end}`));
});

test("finds lumberjack's files, with the time before the ending", () => {
  const wanted = ['2026-11-20T23-59-59.001.log.gz', '2026-11-21T10-15-00.000.log', '2026-11-21T10-15-00.001.log'];
  const others = ['2026-11-21.log', '2026-11-21T10-15-00.000.txt', '2026-11-21T10-15-00.000.log.tmp', 'x.log'];
  const folder = folderWith('events.log', ...[...others, ...wanted].map((end) => `events-${end}`));
  expect(namesOf(join(folder, 'events.log'))).toStrictEqual(wanted.map((end) => `events-${end}`));
});

test.each(['a+b.log', '[x].log', 'a$.log', 'ä b.log', '.log'])('%s is not a pattern', (name) => {
  const folder = folderWith(name, `${name}.1`, 'aab.log.1', 'x.log.1', 'a.log.1');
  expect(namesOf(join(folder, name))).toStrictEqual([`${name}.1`]);
});

test('tells which of them are compressed', () => {
  const folder = folderWith('kern.log.1', 'kern.log.2.gz');
  expect(siblingsOf(join(folder, 'kern.log')).map(({ isPacked }) => isPacked)).toStrictEqual([true, false]);
});

test('files are found next to a symbolic link, then next to its target', () => {
  const [here, there] = [folderWith('log.1', '0.log.2'), folderWith('0.log', '0.log.20261121-101500', 'log.2')];
  symlinkSync(`../${basename(there)}/0.log`, join(here, 'log'));
  expect(namesOf(join(here, 'log'))).toStrictEqual(['log.1', '0.log.20261121-101500']);
});

test('files are found next to the target of a chain of links, also while it does not exist', () => {
  const [here, between, there] = [folderWith(), folderWith('0.log.7'), folderWith('x.log', 'x.log.1')];
  symlinkSync(join(there, 'x.log'), join(between, '0.log'));
  symlinkSync(join(between, '0.log'), join(here, 'log'));
  expect(namesOf(join(here, 'log'))).toStrictEqual(['x.log.1']);
  renameSync(join(there, 'x.log'), join(there, 'x.log.2'));
  expect(namesOf(join(here, 'log'))).toStrictEqual(['x.log.2', 'x.log.1']);
});

test('follows a relative link in a folder that is itself a link', () => {
  const [real, there] = [folderWith(), folderWith('x.log', 'x.log.1')];
  const links = folderWith('unrelated');
  mkdirSync(join(links, 'deep'));
  symlinkSync(real, join(links, 'deep', 'here'));
  symlinkSync(`../${basename(there)}/x.log`, join(real, 'log'));
  expect(namesOf(join(links, 'deep', 'here', 'log'))).toStrictEqual(['x.log.1']);
});

test('links in a circle and a missing folder give no files', () => {
  const folder = folderWith();
  symlinkSync(join(folder, 'a'), join(folder, 'b'));
  symlinkSync(join(folder, 'b'), join(folder, 'a'));
  expect(siblingsOf(join(folder, 'a'))).toStrictEqual([]);
  rmSync(folder, { recursive: true });
  expect(siblingsOf(join(folder, 'a'))).toStrictEqual([]);
});

test('a folder that may be entered but not listed gives no files', () => {
  const folder = folderWith('kern.log', 'kern.log.1');
  chmodSync(folder, 0o711);
  onTestFinished(() => chmodSync(folder, 0o755));
  expect(asUnprivileged(() => siblingsOf(join(folder, 'kern.log')))).toStrictEqual([]);
});
