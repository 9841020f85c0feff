import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ContainerLogsOptions, createContainerLogs } from '../../../../src/read/sources/kubelet/container-logs.ts';
import { createFolderNames } from '../../../../src/read/sources/kubelet/folder-names.ts';
import type { Source } from '../../../../src/read/sources/source.ts';
import { systemError } from '../fake-ring.ts';
import { fakeTime } from '../fake-time.ts';
import { kept } from '../following.ts';
import { listening } from '../heard.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { fakeLogs } from './fake-logs.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const proxy = 'kube-system_kube-proxy-x_1';
const node = 'calico-system_calico-node-y_2';
const [first, second] = [`${proxy}/kube-proxy/0.log`, `${proxy}/kube-proxy/1.log`];
const record = (text: string): string => `2026-11-21T10:00:00.25Z stderr F ${text}`;

const path = temporaryFolder();
let roots = 0;

type Options = Partial<ContainerLogsOptions> & { there?: readonly string[]; hasRoot?: boolean };

/** A source that has looked once at these logs. */
function follow({ there = [], hasRoot = true, ...options }: Options = {}) {
  const root = options.root ?? path(String(++roots));
  const time = fakeTime(noon);
  const logs = fakeLogs();
  const { heard, listener } = listening();
  /** Makes a log, and the folders above it. */
  const make = (key: string): void => {
    mkdirSync(dirname(`${root}/${key}`), { recursive: true });
    writeFileSync(`${root}/${key}`, '');
  };
  if (hasRoot) mkdirSync(root, { recursive: true });
  for (const key of there) make(key);
  const { createLog } = logs;
  const source = createContainerLogs({ root, saved: undefined, listener, createLog, timing: time, ...options });
  onTestFinished(() => source.stop());
  source.start();
  return {
    ...heard,
    ...logs,
    source,
    time,
    root,
    make,
    remove: (key: string): void => rmSync(`${root}/${key}`, { recursive: true }),
    /** Returns the paths that are being read, relative to the root. */
    keys: (): string[] => logs.running().map((each) => each.slice(root.length + 1)),
  };
}

const savedKeys = (source: Source): string[] => Object.keys(kept(source)['logs'] ?? {});

test('follows exactly the containers that match', () => {
  const { keys, source } = follow({
    there: [first, `${node}/calico-node/3.log`, `${node}/install-cni/0.log`, 'default_web_3/web/0.log', 'stray/x'],
  });
  expect(keys().toSorted()).toStrictEqual([`${node}/calico-node/3.log`, first]);
  expect(source).toMatchObject({ name: 'containers', state: 'reading' });
});

test('logs present at the first start are read from their end, later ones from their start', () => {
  const { at, make, time } = follow({ there: [first] });
  make(second);
  make(`${node}/calico-node/0.log`);
  time.advance(500);
  expect(at(first).options.from).toBe('end');
  expect(at(second).options.from).toBe('start');
  expect(at('calico-node/0.log').options.from).toBe('start');
});

test('a log that is being rotated at the first start is read from its end', () => {
  const { at, make, time } = follow({ there: [`${first}.20261121-101010`] });
  make(first);
  time.advance(500);
  expect(at(first).options.from).toBe('end');
});

test('everything is read from its start if the folder did not exist', () => {
  const { at, make, time, source, notices, remove } = follow();
  remove('');
  time.advance(500);
  expect(source.state).toBe('waiting');
  make(first);
  time.advance(500);
  expect(at(first).options.from).toBe('start');
  expect(notices.map(({ key }) => key)).toStrictEqual(['no-match', 'missing', 'well']);
});

test('a Pod, its container and its log may appear one after another', () => {
  const { root, keys, make, time } = follow();
  for (const part of [proxy, `${proxy}/kube-proxy`]) {
    mkdirSync(`${root}/${part}`);
    time.advance(500);
  }
  make(first);
  time.advance(500);
  expect(keys()).toStrictEqual([first]);
});

test('a log that is a symbolic link is followed, and a file in place of a folder is not', () => {
  const { root, keys, make, time } = follow({ there: ['target', proxy] });
  make(`${node}/calico-node/x`);
  symlinkSync(`${root}/target`, `${root}/${node}/calico-node/0.log`);
  time.advance(500);
  expect(keys()).toStrictEqual([`${node}/calico-node/0.log`]);
});

test('a limited number is read at once, the newest of a container first', () => {
  const more = `${node}/calico-node/0.log`;
  const { at, keys, notices, remove, time } = follow({ there: [first, second, more], maxLogs: 2 });
  expect(keys().toSorted()).toStrictEqual([more, second]);
  time.advance(1000);
  expect(notices).toMatchObject([{ level: 'warn', key: 'too-many', text: expect.stringMatching(/^1 or more /) }]);
  remove(node);
  time.advance(11_000);
  expect(keys().toSorted()).toStrictEqual([first, second]);
  expect(at(first).options.from).toBe('end');
});

test('lines are handed over with their path, time and number', () => {
  const { at, lines, time, root } = follow({ there: [first] });
  at(first).line(record('{"a":1}'));
  at(first).line(record('{"a":2}'));
  at(first).line('by hand');
  time.advance(500);
  const line = { source: `${root}/${first}`, host: undefined, origin: 'container' };
  expect(lines).toStrictEqual([
    { ...line, line: 1, text: '{"a":1}', time: Date.UTC(2026, 10, 21, 10) + 250, timeIsExact: true },
    { ...line, line: 3, text: 'by hand', time: Date.UTC(2026, 10, 21, 10) + 250, timeIsExact: false },
    { ...line, line: 2, text: '{"a":2}', time: Date.UTC(2026, 10, 21, 10) + 250, timeIsExact: true },
  ]);
});

test('losses and counts of all logs are handed over, including deleted ones', () => {
  const { at, keys, losses, source, remove, time } = follow({ there: [first, `${node}/calico-node/0.log`] });
  at(first).line(record('x'));
  at('calico-node/0.log').line(record('y'));
  at(first).options.listener.lost({ count: 5, unit: 'bytes', reason: 'lost', time: noon });
  remove(proxy);
  time.advance(12_000);
  expect(keys()).toHaveLength(1);
  expect(source.counts).toStrictEqual({ lines: 2, bytes: 2 * (record('x').length + 1), tooLong: 0 });
  expect(losses).toStrictEqual([{ count: 5, unit: 'bytes', reason: 'lost', time: noon }]);
});

test('no line of a container is handed over after its listener has stopped the source', () => {
  const { heard, listener } = listening(() => source.stop());
  const { source, at } = follow({ there: [first], listener });
  at(first).line(record('{"a":1}'));
  at(first).line(record('{"a":2}'));
  at(first).line(record('{"a":3}'));
  expect(heard.lines.map(({ text }) => text)).toStrictEqual(['{"a":1}']);
  expect(source.state).toBe('stopped');
  expect(kept(source)).toMatchObject({
    logs: {
      [first]: {
        log: { offset: 2 * (record('{"a":1}').length + 1) },
        records: { stderr: { open: { line: { text: '{"a":2}' } } } },
      },
    },
  });
});

test('a line without the form of a container log is reported once', () => {
  const { at, notices, time } = follow({ there: [first] });
  at(first).line('by hand');
  time.advance(500);
  at(first).line('by hand');
  time.advance(500);
  expect(notices).toMatchObject([{ level: 'warn', key: 'unreadable' }]);
});

test('the log of a restarted container is read on until it is silent for ten seconds', () => {
  const { at, keys, make, time, lines } = follow({ there: [first] });
  make(second);
  time.advance(9000);
  at(first).line(record('late'));
  time.advance(10_000);
  expect(keys()).toStrictEqual([first, second]);
  time.advance(1500);
  expect(keys()).toStrictEqual([second]);
  expect(lines.map(({ text }) => text)).toStrictEqual(['late']);
});

test('a log does not end before its last line is read', () => {
  const { at, keys, make, time } = follow({ there: [first] });
  at(first).atEnd = false;
  make(second);
  time.advance(60_000);
  expect(keys()).toStrictEqual([first, second]);
});

test('a log that ended is remembered as long as its file exists', () => {
  const { at, keys, make, remove, time, source } = follow({ there: [first] });
  at(first).line(record('x'));
  make(second);
  time.advance(20_000);
  expect(keys()).toStrictEqual([second]);
  expect(kept(source)).toMatchObject({ logs: { [first]: { log: { offset: record('x').length + 1 } } } });
  remove(first);
  time.advance(1000);
  expect(savedKeys(source)).toStrictEqual([second]);
});

test('the log of a deleted Pod is read to its end and forgotten', () => {
  const { at, keys, remove, time, source, notices } = follow({ there: [first] });
  at(first).line(record('x'));
  remove(proxy);
  at(first).options.listener.notice({ level: 'warn', key: 'missing', text: 'gone' });
  time.advance(9000);
  expect(keys()).toStrictEqual([first]);
  time.advance(2000);
  expect(keys()).toStrictEqual([]);
  expect(kept(source)).toStrictEqual({ logs: {} });
  expect(source.state).toBe('waiting');
  expect(notices.map(({ key }) => key)).toStrictEqual(['no-match']);
});

test('a log that is missing for a moment, as during rotation, is still the same', () => {
  const { root, keys, make, made, time } = follow({ there: [first] });
  renameSync(`${root}/${first}`, `${root}/${first}.20261121-101010`);
  time.advance(30_000);
  make(first);
  time.advance(1000);
  expect(keys()).toStrictEqual([first]);
  expect(made).toHaveLength(1);
});

test('every log continues from its place, and new ones begin at their start', () => {
  const before = follow({ there: [first] });
  before.at(first).line(record('{"a":1}'));
  before.at(first).line(record('{"a":2}'));
  before.source.stop();
  const saved = kept(before.source);
  before.make(second);
  const { at, lines, time } = follow({ root: before.root, saved });
  expect(at(first).options).toMatchObject({ saved: { offset: 2 * (record('{"a":1}').length + 1) }, from: 'start' });
  time.advance(500);
  expect(lines.map(({ text }) => text)).toStrictEqual(['{"a":2}']);
  expect(at(second).options).toMatchObject({ saved: undefined, from: 'start' });
});

test('a log that could not be read the first time still begins at its end', () => {
  const before = follow({ there: [first] });
  before.at(first).state = 'waiting';
  const { at } = follow({ root: before.root, saved: kept(before.source) });
  expect(at(first).options.from).toBe('end');
});

test('a log that exceeded the limit the first time still begins at its end', () => {
  const before = follow({ there: [first, second], maxLogs: 1 });
  const { at } = follow({ root: before.root, saved: kept(before.source) });
  expect(at(first).options.from).toBe('end');
});

test('a log that cannot be inspected is not forgotten', () => {
  const saved = { logs: { [first]: { log: { offset: 5 } } } };
  const denied = follow({
    there: [first],
    saved,
    folders: createFolderNames(Date.now, listExceptProxy),
  });
  denied.time.advance(20_000);
  expect(kept(denied.source)).toStrictEqual(saved);
});

test('files from before the root was missing are not forgotten', () => {
  const saved = { logs: { [first]: { log: { offset: 5 } } } };
  const { at, make, time, source } = follow({ saved, hasRoot: false });
  expect(source.state).toBe('waiting');
  time.advance(20_000);
  expect(kept(source)).toStrictEqual(saved);
  make(first);
  time.advance(500);
  expect(at(first).options.saved).toStrictEqual({ offset: 5 });
});

test('a position of another source is not used for these logs', () => {
  const { at } = follow({ there: [first], saved: { logs: { [first]: 7 }, bootId: 'x' } });
  expect(at(first).options).toMatchObject({ saved: undefined, from: 'start' });
});

test('a refusal of the root is a failure, published once, and tried again', () => {
  let isDenied = true;
  const list = (name: string): string[] => (isDenied ? deny() : readdirSync(name));
  const { source, time, notices, at } = follow({ there: [first], folders: createFolderNames(Date.now, list) });
  time.advance(5000);
  expect(source.state).toBe('failed');
  expect(source.position).toBeUndefined();
  isDenied = false;
  time.advance(500);
  expect(source.state).toBe('reading');
  expect(at(first).options.from).toBe('end');
  expect(notices.map(({ level, key }) => `${level} ${key}`)).toStrictEqual(['error failed', 'info well']);
});

test('a refusal of one Pod is published once, and the others continue', () => {
  const { keys, time, notices } = follow({
    there: [first, `${node}/calico-node/0.log`],
    folders: createFolderNames(Date.now, listExceptProxy),
  });
  time.advance(30_000);
  expect(keys()).toStrictEqual([`${node}/calico-node/0.log`]);
  expect(notices.map(({ key }) => key)).toStrictEqual(['unreadable']);
});

test('a refusal of one log is passed on as a notice, and so is its recovery', () => {
  const { at, notices, source } = follow({ there: [first, second] });
  at(first).state = 'failed';
  at(first).options.listener.notice({ level: 'error', key: 'unreadable', text: 'denied' });
  at(first).options.listener.notice({ level: 'info', key: 'well', text: 'well' });
  at(first).options.listener.notice({ level: 'info', key: 'well', text: 'well' });
  expect(source.state).toBe('reading');
  expect(notices.map(({ key }) => key)).toStrictEqual(['unreadable', 'well']);
  at(second).state = 'failed';
  expect(source.state).toBe('failed');
});

function listExceptProxy(folder: string): string[] {
  return folder.endsWith(proxy) ? deny() : readdirSync(folder);
}

function deny(): never {
  throw systemError('EACCES');
}
