import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseProgramRecord } from '../../../../src/read/parsing/components/program-record.ts';
import { rowsIn } from '../../../corpus/lines.ts';
import { expectLines } from '../../../expected-file.ts';

const at = 'E1121 13:37:46.657104   31530 proxier.go:1406]';

test('all fields read from records of programs are as expected', async () => {
  const read = rowsIn(join(import.meta.dirname, 'records.log')).map(
    ({ id, text }) => `${id}: ${JSON.stringify(parseProgramRecord(text)) ?? 'nothing of ours'}`,
  );
  await expectLines(import.meta.dirname, 'records.expected.txt', read);
});

test.each([
  ['kube-proxy', undefined, 'proxier.go'],
  ['kube-proxy', 'kube-proxy', 'reflector.go'],
  ['kube-proxy', 'k3s', 'proxier.go'],
  ['kube-router', undefined, 'npc_iptables.go'],
  ['kube-router', 'k3s', 'network_policy_controller.go'],
  ['kube-router', 'kube-router', 'npc_nftables.go'],
  ['unknown', undefined, 'reflector.go'],
  ['unknown', 'k3s', 'reflector.go'],
  ['unknown', 'kube-controller-manager', 'proxier.go'],
  ['unknown', 'kindnet-cni', 'reflector.go'],
])('reads a record of %s, by the tag %s and the file %s', (program, tag, file) => {
  expect(parseProgramRecord(at.replace('proxier.go', file), tag)?.program).toBe(program);
});

test('a panic of k3s is read as the record that it repeats', () => {
  const fatal = `F${at.slice(1)} x`;
  expect(parseProgramRecord(`panic: ${fatal}`)).toEqual(parseProgramRecord(fatal));
  expect(parseProgramRecord(`panic: ${at} x`)).toBeUndefined();
});

test('reads a record whose tag was already removed', () => {
  expect(parseProgramRecord(`${at} "x"`, 'kubelet')?.program).toBe('unknown');
  expect(parseProgramRecord(at.replace('proxier', 'kubelet_network_linux'))?.program).toBe('unknown');
  expect(parseProgramRecord('time="2026-11-21T10:00:00Z" level=error msg="dial tcp"', 'k3s')).toBeUndefined();
  expect(parseProgramRecord('BGP: x', 'bird')?.program).toBe('bird');
  expect(parseProgramRecord(`${at} "x"`, 'k8s_kube-proxy_kube-proxy-x_kube-system_1_0')?.program).toBe('kube-proxy');
});

const long = 'x'.repeat(40_000);

test('keeps 4 KiB of a field and 16 KiB of error text, without half a character', () => {
  const record = parseProgramRecord(`${at} "m" err="${'😀'.repeat(20_000)}" a="y${'😀'.repeat(5000)}"`);
  expect(record?.error).toBe('😀'.repeat(8192));
  expect(record?.fields).toStrictEqual({ err: '😀'.repeat(2048), a: `y${'😀'.repeat(2047)}` });
});

test('keeps an error of several lines', () => {
  const record = parseProgramRecord(`${at} "m" err=<\n\t${long}\n\t${'x'.repeat(20_000)}\n > a="b"`);
  expect(record?.error).toBe('x'.repeat(16_384));
  expect(record?.fields['a']).toBe('b');
});

test('keeps a message of 4 KiB', () => {
  expect(parseProgramRecord(`${at} ${long}`)?.message).toHaveLength(4096);
  expect(parseProgramRecord(`${at} "${long}"`)?.message).toHaveLength(4096);
});

test('keeps 32 fields, and the error wherever it is', () => {
  const fields = Array.from({ length: 40 }, (_, i) => ` k${i}="v"`).join('');
  const record = parseProgramRecord(`${at} "m"${fields} err="e" k3="new"`);
  expect(Object.keys(record?.fields ?? {})).toHaveLength(32);
  expect(record?.fields['k3']).toBe('new');
  expect(record?.error).toBe('e');
});

test('keeps 64 KiB of text', () => {
  const text = `${at} "m" err="${long}" a="${'x'.repeat(20_000)}`;
  expect(parseProgramRecord(`${text}" b="${long}" c="d"`)?.fields['c']).toBeUndefined();
});
