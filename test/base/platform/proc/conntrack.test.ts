import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { hostProcess, networkNamespaceOf, readConntrack } from '../../../../src/base/platform/proc.ts';
import { procTree, readerIn } from './proc-tree.ts';

/** Linux 6.18 prints it so, of a table with 11 entries; cut to what matters. */
const statistics = `entries  clashres found new invalid ignore delete
0000000b  00000000 00000001 00000000 00000000 00000000 00000000
0000000b  00000000 00000007 00000000 00000000 00000000 00000000
`;
const sysctls = {
  'sys/net/netfilter/nf_conntrack_count': '260001\n',
  'sys/net/netfilter/nf_conntrack_max': '262144\n',
};

test.each([
  ['its own namespace', 'self', { count: 260_001, max: 262_144 }],
  ["another process's", '1', { count: 11, max: 262_144 }],
  ['a process that has gone', '77', { count: undefined, max: 262_144 }],
  ['no process', undefined, { count: undefined, max: 262_144 }],
])('reads the level of the connection table in %s', async (_, process, expected) => {
  const root = procTree({ ...sysctls, '1/net/stat/nf_conntrack': statistics });
  expect(await readConntrack(root, process)).toEqual(expected);
});

test.each([
  ['an empty file', ''],
  ['a heading only', 'entries  clashres found new\n'],
  ['something else', 'entries  clashres\nmany\n'],
])('statistics with %s are ignored', async (_, text) => {
  expect(await readConntrack(procTree({ '1/net/stat/nf_conntrack': text }), '1')).toBeUndefined();
});

test('numbers larger than any table are not believed', async () => {
  const root = procTree({ 'sys/net/netfilter/nf_conntrack_max': '9'.repeat(20) });
  expect(await readConntrack(root, 'self')).toBeUndefined();
});

test('without connection tracking, nothing is returned', async () => {
  expect(await readConntrack(procTree({ version: 'Linux' }), 'self')).toBeUndefined();
  expect(await readConntrack('/nowhere', '1')).toBeUndefined();
});

const ofMachine = {
  count: '/proc/sys/net/netfilter/nf_conntrack_count',
  max: '/proc/sys/net/netfilter/nf_conntrack_max',
  statistics: `/proc/${process.pid}/net/stat/nf_conntrack`,
};

function printedBy(path: string): number {
  return Number(execFileSync('cat', [path], { encoding: 'utf8' }));
}

test('reads the same table of this machine that the kernel shows to other programs', async ({ skip }) => {
  const missing = Object.values(ofMachine).find((path) => !existsSync(path));
  skip(missing !== undefined, `this kernel has no ${missing}`);
  // Other programs may open a connection between two readings.
  await vi.waitFor(async () => {
    const expected = { count: printedBy(ofMachine.count), max: printedBy(ofMachine.max) };
    expect(await readConntrack('/proc', 'self')).toEqual(expected);
    expect(await readConntrack('/proc', String(process.pid))).toEqual(expected);
  }, 30_000);
});

const links = (own: string, first: string): Record<string, string> => ({
  'self/ns/net': `->net:[${own}]`,
  '1/ns/net': `->net:[${first}]`,
});

test('in the initial namespace, the reader itself shows the host, whatever else it may see', async () => {
  expect(await hostProcess(readerIn(procTree({}), 'initial'))).toBe('self');
  expect(await hostProcess(readerIn(procTree(links('4026531833', '4026531833')), 'initial'))).toBe('self');
});

test('the first process shows the host if it is in another namespace', async () => {
  expect(await hostProcess(readerIn(procTree(links('4026532317', '4026531833')), 'another'))).toBe('1');
});

test('the first process shows the host if its namespace may not be read', async () => {
  expect(await hostProcess(readerIn(procTree({ 'self/ns/net': '->net:[4026532317]' }), 'another'))).toBe('1');
});

test('if only a Pod is visible, no process shows the host', async () => {
  expect(await hostProcess(readerIn(procTree(links('4026532317', '4026532317')), 'another'))).toBeUndefined();
});

test('a namespace has the inode of its file', async () => {
  expect(await networkNamespaceOf('/proc', 'self')).toBe(statSync('/proc/self/ns/net').ino);
  expect(await networkNamespaceOf('/proc', '0')).toBeUndefined();
  expect(await networkNamespaceOf(procTree({ 'self/ns/net': '->somewhere' }), 'self')).toBeUndefined();
});
