/** A machine for a node: a kernel of Debian in QEMU, without KVM, with the programs of this machine. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lan } from '../cluster/lan.ts';
import type { Machine } from '../cluster/machine.ts';
import {
  hasFailedToBoot,
  modulesOf,
  mostBoots,
  releaseOf,
  unpackKernel,
  writeArchive,
} from '../kernel-drops/machine.ts';
import { run } from '../network/command.ts';
import { outcomeOf } from '../outcome.ts';
import { until } from '../until.ts';
import { SHELL_PORT } from './guest-shell.ts';

/** The modules that the guest boots with; its kernel loads all others itself. */
const bootModules = [
  'crc32c_generic',
  'virtio_pci',
  'virtio_net',
  'virtio_blk',
  '9pnet_virtio',
  '9p',
  'ext4',
  'overlay',
];

/** The disk of the container runtime, and of writes to all other files; it takes only the space that is used. */
const DISK_BYTES = 8 * 2 ** 30;

/** The guest's folder for containerd's data. */
export const CONTAINERS = '/containers';

/** The guest's console output, in its folder. */
export const CONSOLE = 'console.log';

const BOOTED_WITHIN_MS = 180_000;

const init = (modules: readonly string[], own: readonly string[]): string => `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for module in ${modules.join(' ')}; do insmod /$module; done
mkdir -p /machine /disk /root
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose machine /machine
mount -t ext4 /dev/vda /disk
mkdir -p /disk/upper${CONTAINERS} /disk/work /disk/var
mount -t overlay -o lowerdir=/machine,upperdir=/disk/upper,workdir=/disk/work overlay /root
mount --bind /disk/var /root/var
mount --bind /disk/containers /root${CONTAINERS}
for folder in dev proc sys; do mount --move /$folder /root/$folder; done
exec switch_root /root ${own.join(' ')}
`;

interface GuestOptions {
  /** The version of Linux, like `6.12`. */
  readonly version: string;
  /** An empty folder for its files; the guest has it under the same path. */
  readonly folder: string;
  /** The initial data of containerd. */
  readonly containers: string;
}

/**
 * Starts it in the network of a cluster; resolves when commands can be run on it. Its root is that of this machine, and
 * writes are kept on a disk of its own. `end` switches it off. Needs root and /dev/net/tun.
 */
export async function startGuestMachine(
  name: string,
  lan: Lan,
  { version, folder, containers }: GuestOptions,
): Promise<{ readonly machine: Machine; readonly address: string; readonly end: () => Promise<void> }> {
  const { device, address } = await lan.joinGuest();
  const id = randomBytes(16).toString('hex');
  writeFileSync(join(folder, 'machine-id'), `${id}\n`);
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
  const kernel = await unpackKernel(version);
  const release = releaseOf(kernel);
  await writeInitrd(kernel, folder, [name, address, folder, join(kernel, 'lib/modules', release), process.execPath]);
  await makeDisk(folder, containers);
  const network = ['nsenter', `--net=/run/netns/${lan.control}`, '--'];
  const enter = [...network, process.execPath, join(import.meta.dirname, 'guest-command.ts'), address, '--'];
  const qemu = [...network, 'qemu-system-x86_64', ...argumentsOf({ kernel, release, folder, device })];
  for (let boots = 1; ; boots++) {
    const booting = startQemu(qemu, join(folder, CONSOLE));
    const isUp = await booting.untilAnswers(enter);
    if (isUp) return { machine: { name, folder, id, enter, hasKernel: true }, address, end: booting.end };
    await booting.end();
    // See hasFailedToBoot.
    if (boots === mostBoots || !hasFailedToBoot(booting.printed()))
      throw new Error(`[guest] nothing answers at ${address}:${SHELL_PORT}:\n${booting.printed().slice(-3000)}`);
    console.warn(`Linux ${version} has failed to boot in the emulator, and boots again`);
  }
}

/** An initrd that starts boot.sh with these arguments. */
async function writeInitrd(kernel: string, folder: string, args: readonly string[]): Promise<void> {
  const modules = await modulesOf(kernel, releaseOf(kernel), bootModules);
  const boot = ['/bin/bash', join(import.meta.dirname, 'boot.sh'), ...args];
  const files = new Map<string, string | Buffer>([
    ['bin/busybox', '/bin/busybox'],
    ['init', Buffer.from(init(modules, boot))],
    ...modules.map((path) => [path, join(kernel, path)] as const),
  ]);
  writeArchive(join(folder, 'initrd'), files);
}

async function makeDisk(folder: string, containers: string): Promise<void> {
  const [disk, content] = [join(folder, 'disk'), join(folder, 'content')];
  mkdirSync(content);
  renameSync(containers, join(content, 'containers'));
  writeFileSync(disk, '');
  truncateSync(disk, DISK_BYTES);
  await run('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard', '-d', content, disk]);
  rmSync(content, { recursive: true });
}

function argumentsOf(places: { kernel: string; release: string; folder: string; device: string }): readonly string[] {
  const { kernel, release, folder, device } = places;
  return [
    ...'-accel tcg,thread=multi,tb-size=1024 -smp 2 -cpu max -m 3072 -nographic -no-reboot'.split(' '),
    '-netdev',
    `tap,id=lan,ifname=${device},script=no,downscript=no`,
    '-device',
    'virtio-net-pci,netdev=lan',
    '-drive',
    `file=${join(folder, 'disk')},format=raw,if=virtio,cache=unsafe`,
    '-virtfs',
    'local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap',
    '-kernel',
    join(kernel, 'boot', `vmlinuz-${release}`),
    '-initrd',
    join(folder, 'initrd'),
    '-append',
    'console=ttyS0 quiet panic=-1 no_timer_check mitigations=off rdinit=/init',
  ];
}

/** The guest ends with this process at the latest. */
function startQemu(command: readonly string[], log: string) {
  const machine = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = createWriteStream(log);
  for (const stream of [machine.stdout, machine.stderr]) stream.pipe(output, { end: false });
  const ended = new Promise<void>((resolve) => machine.on('close', () => resolve()));
  return {
    printed: (): string => readFileSync(log, 'latin1'),
    /** Resolves to true when a command can be run in it, to false if it has ended or takes too long. */
    async untilAnswers([program = '', ...args]: readonly string[]): Promise<boolean> {
      const looks = async (): Promise<boolean> =>
        machine.exitCode !== null || (await outcomeOf(spawn(program, [...args, 'true']))).code === 0;
      const looked = await until(looks, () => '', BOOTED_WITHIN_MS).catch(() => false);
      return looked && machine.exitCode === null;
    },
    async end(this: void): Promise<void> {
      machine.kill('SIGKILL');
      await ended;
    },
  };
}
