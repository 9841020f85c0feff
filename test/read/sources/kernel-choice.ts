/** The folders of a node, and the source of the kernel's log that is chosen there. */
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { type KernelChoice, chooseKernelSource, type KernelChoiceOptions } from '../../../src/read/sources/auto.ts';
import { type Device, kmsgDevice } from '../../../src/read/sources/kmsg/device.ts';
import { systemError } from './fake-ring.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const noon = Date.UTC(2026, 10, 21, 12);
export const hour: Millis = 3_600_000;
export const day = 24 * hour;
/** The node has been up for a month. */
export const booted = noon - 30 * day;

let within: ReturnType<typeof temporaryFolder>;

/** Each test file calls this, because the module is loaded once for all files that share a process. */
export function prepareHost(): void {
  within = temporaryFolder();
  afterEach(() => rmSync(host(), { recursive: true, force: true }));
}

export const host = (...parts: string[]): string => within('host', ...parts);

/** A file of the node, last written `age` ago. */
export function put(path: string, content: string, age: Millis = 0): void {
  mkdirSync(dirname(host(path)), { recursive: true });
  writeFileSync(host(path), content);
  utimesSync(host(path), (noon - age) / 1000, (noon - age) / 1000);
}

export function kernelLine(age: Millis = 0): string {
  return `${new Date(noon - age).toISOString()} node-a kernel: [12.345678] calico-drop: IN=eth0 OUT= \n`;
}

export const other = '2026-11-21T11:59:00Z node-a kubelet[12]: the kernel: it is fine\n';
export const record = '6,1,2000,-;Linux version 6.12\n';

/** Not the device of the machine on which the tests run. */
export const device: Device = {
  ...kmsgDevice,
  open(path) {
    if (!path.startsWith(within())) throw systemError('EPERM');
    return kmsgDevice.open(path);
  },
};

export const noJournal: KernelChoiceOptions['journal'] = () => ({ reason: 'there is no journalctl in this image' });
export const aJournal: KernelChoiceOptions['journal'] = () => ({ directory: '/run/log/journal' });

export function choose(looks: Partial<KernelChoiceOptions> = {}): KernelChoice {
  return chooseKernelSource({
    journal: noJournal,
    root: host(),
    wall: () => noon,
    booted: () => booted,
    device,
    ...looks,
  });
}

export const [kern, messages, syslog, ring] = [
  '/var/log/kern.log',
  '/var/log/messages',
  '/var/log/syslog',
  '/dev/kmsg',
];
