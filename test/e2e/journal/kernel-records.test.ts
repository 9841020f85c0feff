import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseKernelSource } from '../../../src/read/sources/auto.ts';
import { hasKernelRecords } from '../../../src/read/sources/journald/kernel-records.ts';
import { createOwnFolder } from '../own-folder.ts';

/** Real files of a journal. Tests whether it is recognized that journald, which wrote them, reads the kernel's log. */

const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().replaceAll('-', '');
const earlier = '1'.repeat(32);

/** Writes a record for each transport and boot, as journald would. Returns the folder. */
function journalOf(records: readonly (readonly [transport: string, boot: string])[]): string {
  const folder = join(createOwnFolder('journal'), 'a'.repeat(32));
  mkdirSync(folder, { recursive: true });
  const text = records.map(([transport, bootId], index) =>
    [
      `__REALTIME_TIMESTAMP=${(Date.now() - 60_000 + index) * 1000}`,
      `__MONOTONIC_TIMESTAMP=${1_000_000 + index}`,
      `_BOOT_ID=${bootId}`,
      `_TRANSPORT=${transport}`,
      'MESSAGE=calico-drop: IN=eth0 OUT=',
      '',
      '',
    ].join('\n'),
  );
  const remote = '/lib/systemd/systemd-journal-remote';
  const { status, stderr } = spawnSync(
    remote,
    [`--output=${join(folder, 'system.journal')}`, '--split-mode=none', '-'],
    { input: text.join(''), encoding: 'utf8' },
  );
  expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
  return folder;
}

test.each<[string, readonly (readonly [string, string])[], boolean]>([
  [
    'it reads the kernel of this boot',
    [
      ['stdout', boot],
      ['kernel', boot],
    ],
    true,
  ],
  [
    'it only read the kernel of an earlier boot',
    [
      ['kernel', earlier],
      ['stdout', boot],
    ],
    false,
  ],
  [
    'it reads no kernel, as in kind',
    [
      ['stdout', boot],
      ['syslog', boot],
      ['driver', boot],
    ],
    false,
  ],
])('reads a journal: %s', (_, records, expected) => {
  const directory = journalOf(records);
  expect(hasKernelRecords(directory)).toBe(expected);
  const choice = chooseKernelSource({
    journal: () => ({ directory }),
    kernelRecords: hasKernelRecords,
    root: createOwnFolder('empty-root'),
    device: {
      open: () => {
        throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
      },
      read: () => 0,
      close: () => {},
    },
  });
  expect(choice).toMatchObject({ source: { kind: 'journal', directory }, isCertain: expected });
});

test('a folder without a journal cannot be queried', () => {
  expect(hasKernelRecords('/nonexistent')).not.toBe(true);
});
