import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chooseKernelSource, type KernelChoiceOptions, pickKernelSource } from '../../../src/read/sources/auto.ts';
import type { Device } from '../../../src/read/sources/kmsg/device.ts';
import { systemError } from './fake-ring.ts';
import {
  aJournal,
  booted,
  choose,
  day,
  device,
  host,
  hour,
  kern,
  kernelLine,
  messages,
  noon,
  other,
  prepareHost,
  put,
  record,
  ring,
  syslog,
} from './kernel-choice.ts';

prepareHost();

/** If only the node's /var/log is mounted, the container has the device at its own path. */
const openOwn: Device['open'] = (path) => device.open(path === ring ? host('/own/kmsg') : path);

/** Returns the choice, by its path on the node. */
function chosen(looks?: Partial<KernelChoiceOptions>): string {
  const { source, isCertain } = choose(looks);
  const name = source === undefined ? 'nothing' : source.kind === 'journal' ? source.directory : source.path;
  return `${name.replace(host(), '')}${isCertain ? '' : '?'}`;
}

test.each<[string, string[], Partial<KernelChoiceOptions>]>([
  ['/run/log/journal', [kern, messages, syslog, ring], { journal: aJournal }],
  [kern, [kern, messages, syslog, ring], {}],
  [messages, [messages, syslog, ring], {}],
  [syslog, [syslog, ring], {}],
  [ring, [ring], {}],
  ['nothing?', [], {}],
])('chooses in this order: %s', (expected, there, looks) => {
  for (const path of there) put(path, path === ring ? record : kernelLine());
  expect(chosen(looks)).toBe(expected);
});

test.each<[string, string[], boolean | undefined]>([
  ['/run/log/journal', [kern, ring], true],
  ['/run/log/journal', [kern, ring], undefined],
  [kern, [kern, ring], false],
  [ring, [ring], false],
  ['/run/log/journal?', [], false],
])('a journal without a kernel record of this boot is not chosen: %s', (expected, there, hasRecords) => {
  for (const path of there) put(path, path === ring ? record : kernelLine());
  expect(chosen({ journal: aJournal, kernelRecords: () => hasRecords })).toBe(expected);
});

test('a journal without a kernel record has precedence over an uncertain file', () => {
  put(kern, kernelLine(8 * day), 8 * day);
  expect(chosen({ journal: aJournal, kernelRecords: () => false })).toBe('/run/log/journal?');
});

test('Talos: chooses its kernel file', () => {
  put('/var/log/kernel.log', 'kern: warning: [2026-11-21T11:00:00.123456789Z]: calico-drop: IN=cali1 OUT=cali2\n');
  put(ring, record);
  expect(chosen()).toBe('/var/log/kernel.log');
});

test.each<[string, () => void, string]>([
  ['a line of the kernel', () => put(kern, kernelLine()), kern],
  ['one that is six days old', () => put(kern, kernelLine(6 * day), 6 * day), kern],
  ['one that is eight days old', () => put(kern, kernelLine(8 * day), 8 * day), ring],
  ['one that is eight days old, and others', () => put(messages, kernelLine(8 * day) + other), ring],
  ['none but of others', () => put(messages, other.repeat(100)), ring],
  ['one far before those of others', () => put(messages, kernelLine() + other.repeat(10_000)), messages],
  ['one too far before those of others', () => put(messages, kernelLine() + other.repeat(20_000)), ring],
  ['one with a stamp without a year', () => put(kern, 'Nov 21 11:00:00 node-a kernel: IN=\n'), kern],
  ['one without a stamp', () => put(kern, 'kernel: IN=\n'), kern],
  ['one that only looks like it, cut at the front', () => put(kern, `xkernel: ${'x'.repeat(2 ** 20 - 8)}`), ring],
  ['nothing', () => put(kern, ''), ring],
  ['a folder', () => mkdirSync(host(kern), { recursive: true }), ring],
  ['a link to nowhere', () => symlinkSync('nowhere', host(kern)), ring],
  [
    'a pipe, beside which an older file is',
    () => {
      put('/var/log/kern.log.1', kernelLine(hour), hour);
      execFileSync('mkfifo', [host(kern)]);
    },
    ring,
  ],
])('a log file shows: %s', (_, prepare, expected) => {
  put(ring, record);
  mkdirSync(host('/var/log'), { recursive: true });
  prepare();
  expect(chosen()).toBe(expected);
});

test('the previous file of a log that was just rotated shows its kind', () => {
  put(ring, record);
  put(kern, '');
  put('/var/log/kern.log.2', kernelLine(14 * day), 14 * day);
  put('/var/log/kern.log.1', kernelLine(hour), hour);
  expect(chosen()).toBe(kern);
  put(messages, other);
  put('/var/log/messages-20261121', kernelLine(hour) + other, hour);
  rmSync(host(kern));
  expect(chosen()).toBe(messages);
});

test('the previous file of a log that is rotated without being written to is as old as the log', () => {
  put(ring, record);
  put(kern, '', hour);
  put('/var/log/kern.log.1', '', 7 * day);
  put('/var/log/kern.log.2', kernelLine(14 * day), 14 * day);
  expect(chosen()).toBe(ring);
  put('/var/log/kern.log.1', kernelLine(8 * day), 8 * day);
  expect(chosen()).toBe(ring);
  // A copied log is written to on the day of its rotation.
  put('/var/log/kern.log.1', kernelLine(8 * day), hour);
  expect(chosen()).toBe(ring);
});

test('a log from the image of a node that has just booted is not chosen', () => {
  put(ring, record);
  put(kern, kernelLine(3 * hour), 3 * hour);
  const young = { booted: () => noon - hour };
  expect(chosen(young)).toBe(ring);
  put(kern, kernelLine(3 * hour) + kernelLine(hour / 2), hour / 2);
  expect(chosen(young)).toBe(kern);
  // Also half an hour ago, but in New York.
  put(kern, 'Nov 21 06:30:00 node-a kernel: IN=\n', hour / 2);
  expect(chosen(young)).toBe(kern);
});

function overwritten(): never {
  throw systemError('EPIPE');
}

test.each<[string, () => void]>([
  ['a folder', () => mkdirSync(host(ring), { recursive: true })],
  ['a link to what gives nothing', () => symlinkSync('/dev/null', host(ring))],
  ['something else', () => put(ring, 'hello\n')],
])('the ring buffer: %s does not count as one', (_, prepare) => {
  mkdirSync(host('/dev'), { recursive: true });
  prepare();
  expect(chosen()).toBe('nothing?');
});

test('a ring buffer that is being overwritten counts as one', () => {
  put(ring, record);
  let reads = 0;
  const read: Device['read'] = (fd, buffer) => {
    if (++reads < 3) throw systemError('EPIPE');
    return device.read(fd, buffer);
  };
  expect(chosen({ device: { ...device, read } })).toBe(ring);
});

test('endless reads are given up', () => {
  put(ring, record);
  expect(chosen({ device: { ...device, read: overwritten } })).toBe('nothing?');
});

test("the container's own log is used if only the node's logs are mounted", () => {
  put('/own/kmsg', record);
  expect(choose({ device: { ...device, open: openOwn } }).source).toStrictEqual({ kind: 'ring', path: ring });
});

test('the ring buffer is closed again', () => {
  put(ring, record);
  const open = new Set<number>();
  const counted: Device = {
    ...device,
    open(path) {
      const fd = device.open(path);
      open.add(fd);
      return fd;
    },
    close(fd) {
      open.delete(fd);
      device.close(fd);
    },
  };
  expect([chosen({ device: counted }), open.size]).toStrictEqual([ring, 0]);
  put(ring, 'hello\n');
  expect([chosen({ device: counted }), open.size]).toStrictEqual(['nothing?', 0]);
});

test.each<[string, () => void, string]>([
  ['the kernel has been quiet for long', () => put(kern, kernelLine(8 * day), 8 * day), `${kern}?`],
  ['none of the kernel yet', () => put(messages, other), `${messages}?`],
  ['just made', () => put(kern, ''), `${kern}?`],
  ['never any line of the kernel, and nobody writes to it', () => put(messages, other, 8 * day), 'nothing?'],
  ['empty for long', () => put(kern, '', 8 * day), 'nothing?'],
])('without the ring buffer, an uncertain log is better than none: %s', (_, prepare, expected) => {
  prepare();
  expect(chosen()).toBe(expected);
});

test('a log with kernel lines has precedence', () => {
  put(kern, '');
  put(messages, other);
  put(syslog, kernelLine(8 * day) + other);
  expect(chosen()).toBe(`${syslog}?`);
});

test('never throws on the machine that runs the tests', () => {
  const { text, source } = chooseKernelSource({ journal: () => ({ reason: 'not looked for' }) });
  expect(text).toContain(source === undefined || source.kind === 'journal' ? 'journal' : source.path);
});

test('paths below a root begin with the root', () => {
  put(kern, kernelLine());
  expect(choose().source).toStrictEqual({ kind: 'file', path: join(host(), kern) });
});

const file = (path: string) => ({ kind: 'file', path: host(path) }) as const;

describe('if several sources are configured, one is used for kernel lines', () => {
  const journal = { kind: 'journal', directory: '/j' } as const;
  const looksOf = { journal: aJournal, wall: () => noon, booted: () => booted, device };
  const kernel = { kind: 'kernel' } as const;

  test('it is the first one with kernel lines, in the order of SOURCES', () => {
    put(kern, kernelLine());
    expect(pickKernelSource([file(kern), journal], looksOf)).toEqual(file(kern));
    expect(pickKernelSource([journal, file(kern)], looksOf)).toEqual(journal);
  });

  test('a missing or unreadable source is not chosen', () => {
    put(kern, kernelLine());
    const sources = [{ kind: 'journal' } as const, kernel, file(messages), file(kern)];
    expect(pickKernelSource(sources, { ...looksOf, journal: () => ({ reason: 'no' }) })).toEqual(file(kern));
  });

  test('it is a readable one without kernel lines if no other has any', () => {
    put(messages, other);
    expect(pickKernelSource([kernel, file(messages)], looksOf)).toEqual(file(messages));
    expect(pickKernelSource([file(messages), journal], looksOf)).toEqual(journal);
  });

  test('if none can be read, the first is chosen; a single source is always chosen', () => {
    expect(pickKernelSource([file(kern), kernel], looksOf)).toEqual(file(kern));
    expect(pickKernelSource([kernel], looksOf)).toEqual(kernel);
    expect(pickKernelSource([], looksOf)).toBeUndefined();
  });
});
