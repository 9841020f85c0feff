import { expect, test } from 'vitest';
import { createSourceDedup } from '../../src/agent/source-dedup.ts';
import type { Json } from '../../src/sources/source.ts';
import { nine } from '../builders.ts';

const record = (at: number): string =>
  `E1121 09:00:0${at}.836390       1 proxier.go:1564] "Failed to execute iptables-restore" err="x"`;
const [file, containers] = ['/var/log/kube-proxy.log', 'containers'];
const both = { kernelSources: ['journal', '/dev/kmsg'], programSources: [containers, file] };

test('a record that kube-proxy writes twice is one; one that it writes again is another', () => {
  const { program, once } = createSourceDedup({ ...both, saved: undefined });
  const seen = [
    program(file, record(1)),
    program(containers, record(1)),
    program(containers, record(2)),
    program(file, record(2)),
    program(file, record(3)),
  ];
  expect(seen).toEqual([true, false, true, false, true]);
  expect(once.counts).toEqual({ repeats: 2, forgotten: 0 });
});

test('what has no stamp of its own may come again', () => {
  const { program } = createSourceDedup({ ...both, saved: undefined });
  expect([program(file, 'bird: x'), program(containers, 'bird: x')]).toEqual([true, true]);
});

test('a kernel line is another thing than a record of a program', () => {
  const { kernel, program } = createSourceDedup({ ...both, saved: undefined });
  expect([kernel('journal', record(1), nine), program(file, record(1))]).toEqual([true, true]);
  expect(kernel('/dev/kmsg', record(1), nine)).toBe(false);
});

test('the next run knows what was seen through one source only', () => {
  const first = createSourceDedup({ ...both, saved: undefined });
  first.program(file, record(1));
  first.kernel('journal', 'IN=eth0', nine);
  const saved = JSON.parse(JSON.stringify(first.once.state())) as Json;
  const second = createSourceDedup({ ...both, saved });
  expect(second.program(containers, record(1))).toBe(false);
  expect(second.kernel('/dev/kmsg', 'IN=eth0', nine)).toBe(false);
});

test('one source alone: every record is news', () => {
  const { program } = createSourceDedup({ kernelSources: [], programSources: [], saved: undefined });
  expect([program(containers, record(1)), program(containers, record(1))]).toEqual([true, true]);
});

test('what was kept before programs were counted is read', () => {
  const { kernel, program } = createSourceDedup({
    ...both,
    saved: { sources: ['journal', '/dev/kmsg'], awaited: [], left: 0 },
  });
  expect([program(file, record(1)), program(containers, record(1))]).toEqual([true, false]);
  expect([kernel('journal', 'IN=eth0', nine), kernel('/dev/kmsg', 'IN=eth0', nine)]).toEqual([true, false]);
});
