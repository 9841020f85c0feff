/** The wording of all messages of sources. The other tests assert only keys, levels, subjects and counts. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openInput } from '../../../src/read/sources/framing/input.ts';
import { noticeOf } from '../../../src/read/sources/journald/journalctl-runs.ts';
import { findJournal, type RunEnd } from '../../../src/read/sources/journald/journalctl.ts';
import { createJournal } from '../../../src/read/sources/journald/journal.ts';
import { adviceOn } from '../../../src/read/sources/kmsg/device.ts';
import { createKernelRing } from '../../../src/read/sources/kmsg/kernel-ring.ts';
import { kernelDropsObstacle } from '../../../src/read/sources/tracefs/kernel-drops.ts';
import { parseContainerRule } from '../../../src/read/sources/kubelet/find-logs.ts';
import { createReport } from '../../../src/read/sources/tail/report.ts';
import { lookAt, readingAdviceOn } from '../../../src/read/sources/tail/open-log.ts';
import { expectLines, messageOf } from '../../expected-file.ts';
import { cursorOf, fakeJournalctl, outputFor, printed } from './fake-journalctl.ts';
import { fakeRing, systemError } from './fake-ring.ts';
import { fakeTime } from './fake-time.ts';
import { listening } from './heard.ts';
import {
  aJournal,
  choose,
  day,
  host,
  kern,
  kernelLine,
  messages,
  other,
  prepareHost,
  put,
  record,
  ring,
  syslog,
} from './kernel-choice.ts';
import { asUnprivileged } from './tail/as-unprivileged.ts';
import { temporaryFolder } from './temporary-folder.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const folder = temporaryFolder();
prepareHost();

const textOfPrinted = (looks?: Parameters<typeof choose>[0]): string => choose(looks).text.replaceAll(host(), '');

test('an obstacle to the kernel’s record of drops is named in the expected words', async () => {
  const tracefs = folder('tracefs');
  const btf = `${tracefs}/btf`;
  const format = `${tracefs}/events/skb/kfree_skb/format`;
  const said = [kernelDropsObstacle(tracefs, btf)];
  mkdirSync(dirname(format), { recursive: true });
  writeFileSync(format, 'print fmt: "skbaddr=%p protocol=%u"');
  said.push(kernelDropsObstacle(tracefs, btf));
  writeFileSync(format, '{ 7, "NETFILTER_DROP" }');
  writeFileSync(btf, 'nothing of the kernel');
  said.push(kernelDropsObstacle(tracefs, btf));
  await expectLines(import.meta.dirname, 'tracefs.expected.txt', said.map(String));
});

test('the source of the kernel’s log is named in the expected words', async () => {
  const said = [textOfPrinted({ journal: aJournal }), textOfPrinted({ journal: aJournal, kernelRecords: () => false })];
  put(kern, kernelLine(8 * day), 8 * day);
  said.push(textOfPrinted());
  put(messages, other);
  put(syslog, '');
  put(ring, record);
  said.push(textOfPrinted(), textOfPrinted({ journal: aJournal, kernelRecords: () => false }));
  rmSync(host(), { recursive: true });
  put(messages, other, 8 * day);
  mkdirSync(host(syslog));
  said.push(textOfPrinted());
  put(kern, kernelLine());
  chmodSync(host(kern), 0);
  // Otherwise only this folder would be unreadable.
  chmodSync(dirname(host()), 0o755);
  said.push(asUnprivileged(textOfPrinted));
  await expectLines(import.meta.dirname, 'kernel-choice.expected.txt', said);
});

test('a saved log is refused in the expected words', async () => {
  const files: [name: string, bytes?: Buffer][] = [
    ['system.journal', Buffer.from('LPKSHHRH\0\0')],
    ['kern.log.xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4])],
    ['kern.log.bz2', Buffer.from('BZh91AY&SY')],
    ['logs.zip', Buffer.from('PK\x03\x04\x14\0')],
    ['kubectl', Buffer.from('\x7fELF\x02\x01')],
    ['missing.log'],
    ['folder'],
    ['system.journal/kern.log'],
  ];
  mkdirSync(folder('folder'), { recursive: true });
  const said = files.map(([name, bytes]) => {
    if (bytes !== undefined) writeFileSync(folder(name), bytes);
    return messageOf(() => openInput(folder(name))).replaceAll(folder(), '');
  });
  await expectLines(import.meta.dirname, 'saved-logs.expected.txt', said);
});

test.each([
  ['gzip', gzipSync('a log\n'.repeat(10_000))],
  ['zstd', zstdCompressSync('a log\n'.repeat(10_000))],
])('a saved log that is refused: %s data that ends too soon', async (kind, packed) => {
  const file = folder(`cut.${kind}`);
  writeFileSync(file, packed.subarray(0, packed.length / 2));
  await expect(openInput(file).read(() => {})).rejects.toThrow(
    `${file}: the ${kind} data is damaged or cut off (unexpected end of file); what came before it was read`,
  );
});

const reportTo = (listener: ReturnType<typeof listening>['listener']): ReturnType<typeof createReport> =>
  createReport('/a', listener, () => noon);

test('notices of a log that is followed have the expected words', async () => {
  const acts: ((report: ReturnType<typeof createReport>) => void)[] = [
    (report) => report.tooLong(2, 1),
    (report) => report.replaced(),
    (report) => report.obstructed({ kind: 'not-a-file', text: '/a is a device' }),
    (report) => report.obstructed({ kind: 'missing', text: '' }),
    (report) => report.failed(' past byte 5: EIO'),
    (report) => {
      report.waiting({ kind: 'missing', text: '' });
      report.well();
    },
    (report) => report.cut(0),
    (report) => report.cut(5),
  ];
  const said = acts.map((act) => {
    const { heard, listener } = listening();
    act(reportTo(listener));
    const notice = heard.notices.at(-1);
    return notice === undefined ? `lost: ${heard.losses.at(-1)?.reason}` : `${notice.key}: ${notice.text}`;
  });
  await expectLines(import.meta.dirname, 'tail/report.expected.txt', said);
});

test('a path that is not a log is described in the expected words', async () => {
  const path = folder('place');
  const targets = [undefined, '/', '/dev/null', path];
  const said = targets.map((target) => {
    rmSync(path, { force: true });
    if (target !== undefined) symlinkSync(target, path);
    const there = lookAt(path);
    return 'kind' in there ? `${there.kind}: ${there.text.replaceAll(path, 'PATH')}` : 'a file';
  });
  said.push(...['EACCES', 'EPERM'].map((code) => readingAdviceOn(systemError(code))));
  await expectLines(import.meta.dirname, 'tail/places.expected.txt', said);
});

test('the end of journalctl is reported in the expected words', async () => {
  const endings: [RunEnd, lastError?: string][] = [
    [{ error: systemError('ENOENT') }],
    [{ error: systemError('EMFILE') }],
    [{ code: 1, signal: null }, 'No journal files were opened due to insufficient permissions.'],
    [{ code: 1, signal: null }, 'Failed to open /host: No such file or directory'],
    [{ code: 3, signal: null }],
    [{ code: null, signal: 'SIGKILL' }],
    [{ code: 0, signal: null }],
  ];
  const said = endings.map(([ending, lastError]) => noticeOf(ending, lastError).text);
  await expectLines(import.meta.dirname, 'journald/endings.expected.txt', said);
});

test('notices of the journal have the expected words if records are broken or gone, and if it is read again', () => {
  const { heard, listener } = listening();
  const time = fakeTime(noon);
  const { spawn, started } = fakeJournalctl();
  const source = createJournal({
    saved: { cursor: cursorOf(2) },
    since: noon,
    listener,
    needles: ['IN='],
    timing: time,
    spawn,
  });
  source.start();
  const [first] = started;
  first?.print(outputFor(first.args, [{ number: 5, message: 'drop: IN=eth0' }]));
  first?.print('kernel: drop: IN=eth0\n\n');
  first?.end(0);
  time.advance(1000);
  started[1]?.print([5, 6].map((number) => printed({ number, message: 'drop: IN=eth0' })).join(''));
  source.stop();
  expect([...heard.losses.map(({ reason }) => reason), ...heard.notices.map(({ text }) => text)]).toEqual([
    'The journal no longer has the record that was read last: what came after it may be lost',
    'journalctl printed what is no record of the journal: {"":"kernel: drop: IN=eth0"}',
    'journalctl ended and is started again',
    'The journal is read now',
  ]);
});

test('an unreadable journal is reported in the expected words', () => {
  mkdirSync(folder('bin'));
  mkdirSync(folder('empty'));
  mkdirSync(folder('closed', 'a'.repeat(32)), { recursive: true });
  // Even root cannot open that.
  symlinkSync(folder('none'), folder('closed', 'a'.repeat(32), 'system.journal'));
  const directories = [folder('empty'), folder('none'), folder('closed')];
  expect(findJournal({ directories, searchPath: folder('bin') })).toEqual({
    reason: 'there is no journalctl in this image',
  });
  writeFileSync(folder('bin/journalctl'), '', { mode: 0o755 });
  expect(findJournal({ directories, searchPath: folder('bin') })).toEqual({
    reason:
      `${folder('empty')}: there is no journal; ${folder('none')}: no such file; ` +
      `${folder('closed')}: the journal may not be read: it takes root, or its group`,
  });
});

test("the kernel's unreadable ring buffer is reported in the expected words", async () => {
  const said = ['EPERM', 'ENOENT', 'EIO'].map((code) => adviceOn(systemError(code)));
  await expectLines(import.meta.dirname, 'ring.expected.txt', said);
});

test('notices of the ring buffer have the expected words if records are broken or overwritten', () => {
  const { heard, listener } = listening();
  const time = fakeTime(noon);
  const device = fakeRing(() => 5000 + time.elapsed());
  const source = createKernelRing({
    saved: undefined,
    since: 0,
    listener,
    timing: time,
    monotonic: () => 5000 + time.elapsed(),
    bootId: () => 'this boot',
    device,
  });
  source.start();
  device.log('IN=1');
  time.advance(100);
  for (const lost of [1, 2]) {
    for (let i = 0; i <= lost; i++) device.log('IN=2');
    device.overwrite(1 + lost);
    time.advance(100);
  }
  device.logRaw('no record\n');
  time.advance(100);
  device.overwrite(2);
  device.readError = 'EPIPE';
  time.advance(10_000);
  device.readError = undefined;
  time.advance(20_000);
  source.stop();
  expect([...heard.losses.map(({ reason }) => reason), ...heard.notices.map(({ text }) => text)]).toEqual([
    '/dev/kmsg was overwritten before it was read: 1 record is lost',
    '/dev/kmsg was overwritten before it was read: 2 records are lost',
    '/dev/kmsg holds what is no record of the kernel\'s log: "no record"',
    '/dev/kmsg cannot be read: 256 reads in a row gave no record. It is tried again every 10 s',
    '/dev/kmsg is read now',
  ]);
});

test('a wrong rule for containers is refused in the expected words', async () => {
  const said = ['kube-proxy', '/b/c', 'a/Kube_Proxy/c'].map((rule) => messageOf(() => parseContainerRule(rule)));
  await expectLines(import.meta.dirname, 'rules.expected.txt', said);
});
