import { expect, test } from 'vitest';
import { nodeLogs, openSources, type OpenSourcesOptions } from '../../src/agent/open-sources.ts';
import type { KernelChoice, KernelSource } from '../../src/read/sources/auto.ts';
import type { Notice } from '../../src/read/sources/source.ts';
import type { ProgramLog } from '../../src/read/sources/tail/follow-file.ts';
import { createSteadyClock } from '../../src/base/platform/clock.ts';
import { nine } from '../builders.ts';

type Settings = OpenSourcesOptions['config']['sources'];

function opened(
  sources: Settings,
  choice: Partial<KernelChoice> = {},
  programs: readonly ProgramLog[] = [],
): { names: string[]; notices: [string, Notice][] } {
  const notices: [string, Notice][] = [];
  const { sources: made } = openSources({
    config: { sources, timeZone: 'UTC', containers: [], podLogs: '/var/log/pods', units: [] },
    positions: {},
    once: undefined,
    first: true,
    pipeline: { take: () => {}, lost: () => {} },
    problems: { source: (source, notice) => void notices.push([source, notice]), lost: () => {} },
    clock: createSteadyClock(
      () => nine,
      () => nine,
    ),
    logs: {
      ...nodeLogs,
      choose: () => ({ source: undefined, isCertain: true, text: 'reading it', ...choice }),
      findPrograms: () => programs,
    },
  });
  return { names: made.map(({ name }) => name), notices };
}

test('a source has the name under which its position is saved', () => {
  const { names, notices } = opened([
    { kind: 'kernel' },
    { kind: 'file', path: '/var/log/kern.log' },
    { kind: 'journal', directory: undefined },
    { kind: 'containers' },
  ]);
  expect(names).toEqual(['/dev/kmsg', '/var/log/kern.log', 'journal', 'containers']);
  expect(notices).toEqual([]);
});

test.each<[string, KernelSource, string]>([
  ['the journal', { kind: 'journal', directory: '/run/log/journal' }, 'journal'],
  ['a file', { kind: 'file', path: '/var/log/messages' }, '/var/log/messages'],
  ['the ring buffer', { kind: 'ring', path: '/dev/kmsg' }, '/dev/kmsg'],
])('auto is %s if that was found, with a notice', (_, source, name) => {
  const { names, notices } = opened([{ kind: 'auto' }, { kind: 'containers' }], { source });
  expect(names).toEqual([name, 'containers']);
  expect(notices).toEqual([['auto', { level: 'info', key: 'chosen', text: 'Reading it' }]]);
});

test('a log that is both found and set is read once', () => {
  const path = '/var/log/kern.log';
  expect(opened([{ kind: 'file', path }, { kind: 'auto' }], { source: { kind: 'file', path } }).names).toEqual([path]);
});

const kubeProxy = { program: 'kube-proxy', path: '/var/log/kube-proxy.log' };

test("auto also reads kube-proxy's log file if it exists, and says so", () => {
  const found: KernelSource = { kind: 'journal', directory: '/run/log/journal' };
  const { names, notices } = opened([{ kind: 'auto' }, { kind: 'containers' }], { source: found }, [kubeProxy]);
  expect(names).toEqual(['journal', 'containers', kubeProxy.path]);
  expect(notices[1]).toMatchObject(['auto', { level: 'info', key: 'program kube-proxy' }]);
});

test('a log that is named is read once, and without auto no log is searched for', () => {
  const named = { kind: 'program', ...kubeProxy } as const;
  const { names, notices } = opened([{ kind: 'auto' }, named], {}, [kubeProxy]);
  expect(names).toEqual(['/dev/kmsg', kubeProxy.path]);
  expect(notices.map(([, { key }]) => key)).toEqual(['chosen']);
  expect(opened([{ kind: 'kernel' }], {}, [kubeProxy]).names).toEqual(['/dev/kmsg']);
});

test('an uncertain choice gives a warning', () => {
  const { notices } = opened([{ kind: 'auto' }], { source: { kind: 'file', path: '/a' }, isCertain: false });
  expect(notices).toMatchObject([['auto', { level: 'warn' }]]);
});

test('if nothing can be read, an error is logged, and the ring buffer is tried again', () => {
  const { names, notices } = opened([{ kind: 'auto' }], { isCertain: false, text: 'nothing\n- help' });
  expect(names).toEqual(['/dev/kmsg']);
  expect(notices).toMatchObject([['auto', { level: 'error', text: 'Nothing\n- help' }]]);
});
