/**
 * The kernel's log of one node. All nodes of a cluster share the kernel of this machine and so its log. A node gets the records that
 * name its own devices or network namespace, and those that name none. The first line is the kernel's version, as after each boot.
 *
 * node kernel-log.ts HOSTNAME MACHINE_ID JOURNAL KERN_LOG       run on the machine of the node
 *
 * Writes the records as journald would (through systemd-journal-remote, into a file in the folder JOURNAL), and as rsyslog would (into the
 * file KERN_LOG). Ends with the machine.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, constants, mkdirSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** It is not on any PATH. */
const JOURNAL_REMOTE = '/lib/systemd/systemd-journal-remote';

/** How often it reads: the kernel's buffer holds only some hundred lines. */
const LOOK_EVERY_MS = 20;

if (import.meta.main) await follow(argv[2] ?? '', argv[3] ?? '', argv[4] ?? '', argv[5] ?? '');

async function follow(host: string, machine: string, journal: string, kernLog: string): Promise<void> {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().replaceAll('-', '');
  mkdirSync(journal, { recursive: true });
  const remote = spawn(JOURNAL_REMOTE, [`--output=${join(journal, 'system.journal')}`, '--split-mode=none', '-'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const devices = new Set<string>();
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/net'))?.[0];
  const isOurs = (message: string): boolean => {
    const [, full = namespace] = /: table full in netns (\d+)/.exec(message) ?? [];
    if (full !== namespace) return false;
    const named = devicesIn(message);
    if (named.length === 0) return true;
    if (!named.every((name) => devices.has(name))) for (const name of ownDevices()) devices.add(name);
    return named.every((name) => devices.has(name));
  };
  const write = (message: string, priority: number, microseconds: string): void => {
    const now = Date.now();
    remote.stdin.write(
      [
        `__REALTIME_TIMESTAMP=${now}000`,
        `__MONOTONIC_TIMESTAMP=${microseconds}`,
        `_BOOT_ID=${boot}`,
        `_MACHINE_ID=${machine}`,
        `_HOSTNAME=${host}`,
        '_TRANSPORT=kernel',
        `_SOURCE_MONOTONIC_TIMESTAMP=${microseconds}`,
        'SYSLOG_FACILITY=0',
        'SYSLOG_IDENTIFIER=kernel',
        `PRIORITY=${priority}`,
        `MESSAGE=${message}`,
        '\n',
      ].join('\n'),
    );
    appendFileSync(kernLog, `${new Date(now).toISOString()} ${host} kernel: ${message}\n`);
  };
  const kmsg = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
  const record = Buffer.alloc(16_384);
  // Earlier lines belong to another cluster.
  while (read(kmsg, record) !== undefined);
  // A node's journal has the lines of its boot, even if nothing was logged since.
  write(readFileSync('/proc/version', 'utf8').trim(), 5, '0');
  for (;;) {
    for (let text = read(kmsg, record); text !== undefined; text = read(kmsg, record)) {
      const [, priority = '6', , microseconds = '0', message = ''] = /^(\d+),(\d+),(\d+),[^;]*;(.*)/.exec(text) ?? [];
      if (Number(priority) >> 3 !== 0 || !isOurs(message)) continue;
      write(message, Number(priority) & 7, microseconds);
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** One record; undefined if there is none. A record that was overwritten in the meantime is skipped. */
function read(file: number, into: Buffer): string | undefined {
  for (;;) {
    try {
      return into.toString('utf8', 0, readSync(file, into));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      if (code === 'EAGAIN') return undefined;
      if (code !== 'EPIPE') throw error;
    }
  }
}

/** Names of network devices in a line of netfilter's LOG; all nodes have `lo`. */
function devicesIn(message: string): readonly string[] {
  const names = [/ ?IN=(\S*) OUT=(\S*) /.exec(message)?.slice(1) ?? []].flat();
  return names.filter((name) => name !== '' && name !== 'lo');
}

function ownDevices(): readonly string[] {
  const links = JSON.parse(spawnSync('ip', ['-json', 'link']).stdout.toString()) as { ifname: string }[];
  return links.map(({ ifname }) => ifname);
}
