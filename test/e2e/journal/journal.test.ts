import { type ChildProcess, spawn as spawnProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createJournal } from '../../../src/read/sources/journald/journal.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { type Heard, listening } from '../../read/sources/heard.ts';
import { createNetwork, type Network } from '../network/network.ts';
import { KERNEL_LOG } from '../network/kernel-access.ts';
import { type Journald, startJournald } from './rig.ts';

/** Real packets, a real kernel's lines, in a real journal. */

// The mark belongs to this run alone, because other processes print to the same log.
const mark = randomBytes(4).toString('hex');
const prefix = `journal-${mark}: `;
const [from, to] = ['shop/web-0', 'shop/postgres-0'];
const limit = { timeout: 60_000, interval: 20 };

let journald: Journald;
let network: Network;
beforeAll(async () => {
  network = await createNetwork({
    backend: 'iptables-nft',
    prefix,
    pods: [
      { namespace: 'shop', name: 'web-0', addresses: ['10.244.1.10'] },
      { namespace: 'shop', name: 'postgres-0', addresses: ['10.244.1.20'] },
    ],
  });
  await network.refuse();
});
afterAll(() => network.destroy());

let opened: Source[];
/** Every journalctl that was started. */
let processes: ChildProcess[];
beforeEach(async () => {
  [opened, processes] = [[], []];
  journald = await startJournald();
});
afterEach(async () => {
  for (const source of opened) source.stop();
  await journald.stop();
});

/** Every drop has a destination port of its own. */
let nextPort = 1000;

/** Sends packets that are logged and dropped, to a port of their own; returns it. */
async function drop(count: number): Promise<number> {
  const port = nextPort++;
  await network.send({ from, to, family: 4, protocol: 'udp', port, count });
  return port;
}

function open(
  saved?: Position,
  since = Date.now() - 60_000,
  directory = journald.directory,
): { source: Source; heard: Heard } {
  const { heard, listener } = listening();
  const source = createJournal({
    directory,
    saved,
    since,
    listener,
    needles: ['IN=', ' kernel messages'],
    spawn(command, args) {
      const child = spawnProcess(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      processes.push(child);
      return child;
    },
  });
  opened.push(source);
  source.start();
  return { source, heard };
}

/** Source ports of the packets to this port, in the order in which they were handed over. */
function handedOver(port: number, ...runs: Heard[]): string[] {
  return runs.flatMap(({ lines }) =>
    lines.flatMap(({ text, origin }) => {
      const found = new RegExp(`^${prefix}IN=.* SPT=(\\d+) DPT=${port} `).exec(text);
      return origin === 'kernel' && found ? [found[1] as string] : [];
    }),
  );
}

/** The source ports are used in order, one after the other. */
function expectOnceEach(ports: string[], count: number): void {
  expect(ports).toHaveLength(count);
  expect(new Set(ports).size).toBe(count);
  expect(ports).toEqual(ports.toSorted((a, b) => Number(a) - Number(b)));
}

test('each line the kernel prints is handed over once, as it was printed', async () => {
  const { source, heard } = open();
  const before = Date.now();
  const port = await drop(100);
  await vi.waitFor(() => expect(handedOver(port, heard)).toHaveLength(100), limit);
  expectOnceEach(handedOver(port, heard), 100);
  const line = heard.lines.find(({ text }) => text.startsWith(prefix) && text.includes(`DPT=${port} `));
  expect(line?.text).toMatch(/ SRC=10\.244\.1\.10 DST=10\.244\.1\.20 LEN=28 .* PROTO=UDP SPT=\d+ DPT=\d+ LEN=8 $/);
  // The kernel's clock differs a little from this one.
  expect(line?.time).toBeGreaterThan(before - 10_000);
  expect(line?.time).toBeLessThan(Date.now() + 10_000);
  expect(source.state).toBe('reading');
  expect(heard.losses).toEqual([]);
  expect(heard.notices).toEqual([]);
});

test('no line is lost or repeated while journalctl is killed again and again', async () => {
  const { heard } = open();
  const ports: number[] = [];
  for (let kill = 0; kill < 3; kill++) {
    const sending = drop(80);
    const started = processes.length;
    processes.at(-1)?.kill('SIGKILL');
    ports.push(await sending);
    await vi.waitFor(() => expect(processes.length).toBeGreaterThan(started), limit);
    await vi.waitFor(() => expect(handedOver(ports.at(-1) as number, heard)).toHaveLength(80), limit);
  }
  for (const port of ports) expectOnceEach(handedOver(port, heard), 80);
  expect(heard.losses).toEqual([]);
  expect(heard.notices.map(({ key }) => key)).toEqual(['ended', 'well', 'ended', 'well', 'ended', 'well']);
});

test('lines from before a reboot are not lost', async () => {
  const first = open();
  const before = await drop(10);
  await vi.waitFor(() => expect(handedOver(before, first.heard)).toHaveLength(10), limit);
  first.source.stop();
  const unread = await drop(10);
  const watch = open();
  await vi.waitFor(() => expect(handedOver(unread, watch.heard)).toHaveLength(10), limit);
  await journald.reboot();
  const second = open(first.source.position);
  const after = await drop(10);
  await vi.waitFor(() => expect(handedOver(after, second.heard)).toHaveLength(10), limit);
  expectOnceEach(handedOver(unread, second.heard), 10);
  expect(handedOver(before, second.heard)).toEqual([]);
  expect(second.heard.losses).toEqual([]);
  // The source that has been following all the time has them as well.
  await vi.waitFor(() => expect(handedOver(after, watch.heard)).toHaveLength(10), limit);
});

test("lines that programs write to /dev/kmsg do not count as the kernel's", async () => {
  const { heard } = open();
  const packet = `IN=eth0 OUT= SRC=10.0.0.1 DST=10.0.0.2 PROTO=TCP SPT=1 DPT=2 MARK=${mark}`;
  const record = { MESSAGE: packet, _TRANSPORT: 'kernel', SYSLOG_FACILITY: '0', SYSLOG_IDENTIFIER: 'kernel' };
  const forged = [
    packet,
    `calico-drop: ${packet}`,
    `kernel: calico-drop: ${packet}`,
    `Nov 21 03:42:11 ulogd[1]: ${packet}`,
    `4,1,1000,-;${packet}`,
    JSON.stringify(record),
  ];
  // 0 would be the facility of the kernel.
  for (const text of forged)
    for (const priority of ['<5>', '<0>', '']) writeFileSync(KERNEL_LOG, `${priority}${text}\n`);
  const port = await drop(1);
  await vi.waitFor(() => expect(handedOver(port, heard)).toHaveLength(1), limit);
  const others = heard.lines.filter(({ text }) => text.includes(mark) && text.includes('DPT=2 '));
  expect(others.map(({ origin }) => origin)).toEqual(Array.from({ length: 18 }, () => 'userspace'));
});

test('bytes that are not UTF-8 arrive unchanged', async () => {
  const { heard } = open();
  const message = `\xff\xfe ${mark} IN=`;
  writeFileSync(KERNEL_LOG, Buffer.from(`<5>${message}\n`, 'latin1'));
  await vi.waitFor(() => expect(heard.lines.map(({ text }) => text)).toContain(message), limit);
});

test('a record that journald has deleted may mean a loss, and reading continues', async () => {
  const first = open();
  const before = await drop(5);
  await vi.waitFor(() => expect(handedOver(before, first.heard)).toHaveLength(5), limit);
  first.source.stop();
  await journald.empty();
  const { heard } = open(first.source.position);
  const after = await drop(5);
  await vi.waitFor(() => expect(handedOver(after, heard)).toHaveLength(5), limit);
  expectOnceEach(handedOver(after, heard), 5);
  expect(heard.losses).toMatchObject([{ count: undefined, unit: 'records' }]);
});

test('an invalid position is reported, and reading continues', async () => {
  const { heard } = open({ cursor: 'rubbish' });
  const port = await drop(5);
  await vi.waitFor(() => expect(handedOver(port, heard)).toHaveLength(5), limit);
  expect(heard.losses).toMatchObject([{ count: undefined, unit: 'records' }]);
  expect(heard.notices).toEqual([]);
});

test('kernel lines that journald has missed are handed over and parsed', async () => {
  // A new journald looks for the very first record of the kernel's log.
  while (firstInKernelLog() === 0) await drop(500);
  await journald.stop();
  journald = await startJournald();
  const { heard } = open();
  const missed = await vi.waitUntil(() => heard.lines.find(({ text }) => text.startsWith('Missed ')), limit);
  expect(missed.text).toMatch(/^Missed \d+ kernel messages$/);
  expect(parse(missed.text, createPrefixTable([]), missed.origin, missed.program)).toMatchObject({
    kind: 'suppressed',
    affects: 'everything',
  });
});

/** The number of the oldest record that still exists. */
function firstInKernelLog(): number {
  const fd = openSync(KERNEL_LOG, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(8192);
    const length = readSync(fd, buffer);
    return Number(buffer.toString('latin1', 0, length).split(',')[1]);
  } finally {
    closeSync(fd);
  }
}

test('a missing folder is reported, and read once it exists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-journal-'));
  try {
    const directory = join(folder, 'journal');
    const { source, heard } = open(undefined, Date.now() - 60_000, directory);
    await vi.waitFor(() => expect(source.state).toBe('failed'), limit);
    expect(heard.notices).toMatchObject([
      {
        level: 'error',
        text: expect.stringContaining(`Failed to open ${directory}: No such file or directory (is the`),
      },
    ]);
    symlinkSync(journald.directory, directory);
    const port = await drop(5);
    await vi.waitFor(() => expect(handedOver(port, heard)).toHaveLength(5), limit);
    expect(source.state).toBe('reading');
    expect(heard.notices.map(({ key }) => key)).toEqual(['failed', 'well']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a killed source ends its journalctl, even if nothing is logged', async () => {
  const script = `
    import { createJournal } from ${JSON.stringify(join(import.meta.dirname, '../../../src/read/sources/journald/journal.ts'))};
    import { spawn } from 'node:child_process';
    const listener = { take() {}, lost() {}, notice() {} };
    createJournal({ directory: ${JSON.stringify(journald.directory)}, saved: undefined, since: Date.now(), listener, needles: ['IN='],
      spawn(command, args) {
        const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
        console.log(child.pid);
        return child;
      } }).start();`;
  const killed = spawnProcess(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(killed.stdout, 'data')) as [Buffer];
  const folder = `/proc/${output.toString().trim()}`;
  expect(existsSync(folder)).toBe(true);
  killed.kill('SIGKILL');
  await vi.waitFor(() => expect(existsSync(folder)).toBe(false), limit);
});
