import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type KernelLog, type KernelSetting, lookAtKernelSource } from '../../../src/cli/doctor/kernel-log.ts';
import type { Machine } from '../../../src/cli/doctor/machine.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { fakeMachine, programs } from './fake.ts';

const within = temporaryFolder();
const drop =
  'my-drop: IN=eth0 OUT=cali0 SRC=10.1.1.1 DST=10.1.1.2 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 PROTO=TCP SPT=4 DPT=5 WINDOW=1 RES=0x00 SYN URGP=0';

async function read(setting: KernelSetting, given: Partial<Machine> = {}): Promise<KernelLog | { reason: string }> {
  const config = { timeZone: 'UTC', units: [] };
  const { log } = await lookAtKernelSource(setting, config, createPrefixTable(), fakeMachine(given));
  return log ?? { reason: 'nothing to read' };
}

test.each<[KernelSetting, Partial<Machine>, object]>([
  [{ kind: 'auto' }, {}, { name: 'auto', isCertain: false, log: undefined }],
  [
    { kind: 'auto' },
    { choose: () => ({ source: { kind: 'file', path: '/a' }, isCertain: true, text: 'reading\n/a' }) },
    { name: 'auto', isCertain: true, text: 'reading /a' },
  ],
  [{ kind: 'journal', directory: undefined }, {}, { name: 'journal', log: undefined }],
  [
    { kind: 'journal', directory: '/j' },
    { findJournal: () => ({ directory: '/j' }) },
    { name: 'journal:/j', text: '/j' },
  ],
])('a setting leads to a source: %j', async (setting, given, expected) => {
  const config = { timeZone: 'UTC', units: [] };
  const look = await lookAtKernelSource(setting, config, createPrefixTable(), fakeMachine(given));
  expect(look).toMatchObject(expected);
});

test("reads the kernel's lines", async () => {
  const path = within('kern.log');
  writeFileSync(
    path,
    `2026-11-21T08:50:00Z node-a kernel: [1.2] eth0: up
2026-11-21T08:51:00Z node-a kernel: [61.2] ${drop}
2026-11-21T08:52:00Z node-a nginx[7]: ${drop}
2026-11-21T08:53:00Z node-a kubelet[12]: fine
`,
  );
  await expect(read({ kind: 'file', path })).resolves.toEqual({
    lines: 2,
    from: nine - 600_000,
    last: nine - 540_000,
    packets: [{ prefix: 'my-drop:', verdict: 'dropped', time: nine - 540_000 }],
  });
});

test('reads the end of a long file', async () => {
  const path = within('long.log');
  const line = `2026-11-21T08:50:00Z node-a kernel: ${drop}\n`;
  writeFileSync(path, line.repeat(20_000));
  await expect(read({ kind: 'file', path })).resolves.toMatchObject({ lines: Math.floor(1024 ** 2 / line.length) });
});

test('an empty file has no lines', async () => {
  const path = within('empty.log');
  writeFileSync(path, '');
  await expect(read({ kind: 'file', path })).resolves.toEqual({
    lines: 0,
    from: undefined,
    last: undefined,
    packets: [],
  });
});

test('a missing file has no lines', async () => {
  await expect(read({ kind: 'file', path: within('none') })).resolves.toEqual({ reason: 'no such file' });
});

test('a pipe is not a log, and is not waited for', async () => {
  execFileSync('mkfifo', [within('pipe')]);
  await expect(read({ kind: 'file', path: within('pipe') })).resolves.toEqual({ reason: 'is not a regular file' });
});

test('each line of a record with several is read', async () => {
  const path = within('several.log');
  const values = ['1', '2', '3'].map((second) => [`179525580${second}000000000`, drop]);
  writeFileSync(path, `${JSON.stringify({ streams: [{ stream: { job: 'kern' }, values }] })}\n`);
  await expect(read({ kind: 'file', path })).resolves.toMatchObject({
    lines: 3,
    packets: [{ prefix: 'my-drop:' }, { prefix: 'my-drop:' }, { prefix: 'my-drop:' }],
  });
});

const fields = drop.slice(drop.indexOf('SRC='));
test.each([
  ['the name of a process', `drop[7]: segfault at 0 ip 401000 sp 7ffe0 error 4 in IN=a OUT= ${fields}[4+1]`],
  ['the name of a control group', `drop: page allocation failure: order:0,cpuset=IN=a OUT= ${fields},mems_allowed=0`],
  ['a line that is cut off', drop.slice(0, drop.indexOf(' DST='))],
  ['a line that a program has written to the ring buffer', drop, 12],
])('a line that no LOG rule can have printed is not a packet: %s', async (_, text, priority = 4) => {
  const path = within('kmsg.log');
  writeFileSync(path, `${priority},1,1000000,-;${text}\n`);
  const log = (await read({ kind: 'file', path })) as KernelLog;
  expect(log.packets).toEqual([]);
});

const samples = readdirSync('samples').filter((name) =>
  /^(?!kube-proxy|hubble|gke|calico-flows|kernel-drops).*\.log$/.test(name),
);
test.each(samples)('a line that rules have printed in %s is a packet', async (name) => {
  const path = join('samples', name);
  const lines = readFileSync(path, 'utf8').match(/ SRC=\S+ DST=/g) ?? [];
  const log = (await read({ kind: 'file', path })) as KernelLog;
  expect(log.packets).toHaveLength(lines.length);
});

const readJournal = (run: Machine['run']): ReturnType<typeof read> =>
  read({ kind: 'journal', directory: '/j' }, { findJournal: () => ({ directory: '/var/log/journal' }), run });

const record = JSON.stringify({
  MESSAGE: drop,
  __REALTIME_TIMESTAMP: String((nine - 5000) * 1000),
  _TRANSPORT: 'kernel',
  SYSLOG_FACILITY: '0',
  SYSLOG_IDENTIFIER: 'kernel',
});
const command =
  'journalctl --output=json --all --merge --quiet --no-pager --lines=5000 --directory=/var/log/journal _TRANSPORT=kernel';

test("reads the kernel's records", async () => {
  expect(await readJournal(programs({ [command]: `${record}\n` }))).toMatchObject({
    lines: 1,
    last: nine - 5000,
    packets: [{ prefix: 'my-drop:' }],
  });
});

test.each([
  [programs({}), expect.stringContaining('journalctl')],
  [
    programs({ journalctl: { kind: 'failed', reason: 'No journal files were opened' } }),
    'No journal files were opened',
  ],
])('reports a journal that cannot be read', async (run, reason) => {
  await expect(readJournal(run)).resolves.toEqual({ reason });
});

test("reads this machine's ring buffer, or says why not", async () => {
  const log = await read({ kind: 'kernel' }, { now: Date.now });
  if ('reason' in log) expect(log.reason).not.toBe('');
  else {
    expect(log.lines).toBeGreaterThan(0);
    expect(log.last).toBeLessThanOrEqual(Date.now() + 60_000);
  }
});
