/** Boots a kernel of Debian in QEMU, without KVM, with a program of Node.js as its only process. */
import { execFile, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { libraries } from '../../programs/table.ts';

const run = promisify(execFile);
const cache = join(homedir(), '.cache/kube-netfilter-tailer/kernels');

export interface MachineOptions {
  /** The beginning of the kernel's version, as in the names of Debian's packages: `6.1`. */
  version: string;
  /** Modules of the kernel, which are loaded with those that they need: `veth`. */
  modules: readonly string[];
  /** Programs and libraries of this machine that the guest needs, by their paths on this machine. */
  programs: Readonly<Record<string, string>>;
  /** The program that is run in the guest: a source of TypeScript. It switches the machine off at its end. */
  program: string;
  /** Text files of the guest, by their paths there. */
  texts?: Readonly<Record<string, string>>;
  /** Arguments of QEMU: the processors, and how they are emulated. Two by default, see `twoProcessors`. */
  processors?: string;
  /** A folder for the image. */
  folder: string;
}

/**
 * One thread emulates both processors in turn. With a thread for each, QEMU 7.2 may continue with a breakpoint that the
 * kernel has put into its code only for a moment, as it does for each probe that is switched on. That processor never
 * leaves the breakpoint, and the other waits for it.
 */
export const twoProcessors = '-accel tcg,thread=single -smp 2';

/** Ten times as long as a program of the guest may be silent (guest-node.ts): then the guest hangs. */
const SILENT_MS = 300_000;
const silence = '[the guest has printed nothing for five minutes, and was switched off]\n';

/** Files of the guest: the path in the guest without a leading slash, and the file of this machine or the content. */
type GuestFiles = Map<string, string | Buffer>;

/** Programs that set up the guest's network and its rules. */
export function networkPrograms(): Record<string, string> {
  const extensions = join(libraries, 'xtables');
  const names = readdirSync(extensions).filter((name) =>
    /^lib(?:xt_(?:tcp|length|standard)|ipt_REJECT)\.so$/.test(name),
  );
  return {
    '/bin/busybox': '/bin/busybox',
    '/usr/sbin/ip': '/bin/ip',
    '/usr/sbin/tc': '/sbin/tc',
    '/usr/sbin/nft': '/usr/sbin/nft',
    '/usr/sbin/iptables': '/usr/sbin/xtables-legacy-multi',
    '/usr/sbin/ip6tables': '/usr/sbin/xtables-legacy-multi',
    ...Object.fromEntries(names.map((name) => [join(extensions, name), join(extensions, name)])),
  };
}

/** Resolves to what the guest has printed. */
export async function runMachine(options: MachineOptions): Promise<string> {
  const { version, modules, programs, program, texts = {}, processors = twoProcessors, folder } = options;
  const kernel = await unpackKernel(version);
  const release = releaseOf(kernel);
  const needed = await modulesOf(kernel, release, modules);
  const { outputFiles } = await build({
    entryPoints: [program],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
    define: { 'process.env.MODULES': JSON.stringify(needed.join(' ')) },
  });
  const files: GuestFiles = new Map<string, string | Buffer>([
    ['program.cjs', Buffer.from(outputFiles[0]?.contents ?? [])],
    ...needed.map((path) => [path, join(kernel, path)] as const),
    ...Object.entries(texts).map(([path, text]) => [path.slice(1), Buffer.from(text)] as const),
  ]);
  for (const [path, from] of Object.entries({ ...programs, '/bin/node': process.execPath }))
    await addProgram(files, path, from);
  const image = join(folder, 'initrd');
  writeArchive(image, files);
  for (let boots = 1; ; boots++) {
    const printed = await start(join(kernel, 'boot', `vmlinuz-${release}`), image, processors);
    if (boots === mostBoots || !hasFailedToBoot(printed)) return printed;
    console.warn(`Linux ${version} has failed to boot in the emulator, and boots again`);
  }
}

export const mostBoots = 3;

/**
 * If each processor is emulated by a thread of its own (see `twoProcessors`), the kernel may fail or hang before any
 * program of the guest runs.
 */
export function hasFailedToBoot(printed: string): boolean {
  return (printed.includes('Kernel panic') || printed.endsWith(silence)) && !/^@/m.test(printed);
}

/**
 * Fetches the newest package of that version from Debian once, and keeps it unpacked. Throws if apt-get does not have
 * it.
 */
export async function unpackKernel(version: string): Promise<string> {
  const pattern = `^linux-image-${version.replaceAll('.', String.raw`\.`)}[.-][0-9a-z.+-]*amd64$`;
  const { stdout } = await run('apt-cache', ['search', '--names-only', pattern]);
  const names = Array.from(stdout.matchAll(/^(linux-image-\S+)/gm), ([, name = '']) => name);
  const plain = names.filter((name) => !/-(?:cloud|rt)-amd64$/.test(name));
  const newest = plain.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1);
  const kept = existsSync(cache)
    ? // With the dot, because 6.1 is not 6.12.
      readdirSync(cache).find((name) => name.startsWith(`linux-image-${version}.`))
    : undefined;
  if (kept !== undefined) return join(cache, kept);
  if (newest === undefined) throw new Error(`apt-cache knows no package of Linux ${version}: run apt-get update`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'unpacking-'));
  await run('apt-get', ['-q', 'download', newest], { cwd: work });
  const [archive = ''] = readdirSync(work);
  await run('dpkg-deb', ['-x', archive, 'kernel'], { cwd: work });
  await run('depmod', ['-b', join(work, 'kernel'), releaseOf(join(work, 'kernel'))]);
  renameSync(join(work, 'kernel'), join(cache, newest));
  rmSync(work, { recursive: true });
  return join(cache, newest);
}

/** The version of an unpacked kernel as it names its folder of modules. */
export function releaseOf(kernel: string): string {
  return readdirSync(join(kernel, 'lib/modules'))[0] ?? '';
}

/** Paths of modules, in an order in which they can be loaded. */
export async function modulesOf(kernel: string, release: string, names: readonly string[]): Promise<string[]> {
  const folder = join('lib/modules', release);
  const needs = new Map<string, string[]>();
  for (const line of readFileSync(join(kernel, folder, 'modules.dep'), 'latin1').split('\n')) {
    const [path = '', rest = ''] = line.split(':');
    needs.set(path, rest.split(' ').filter(Boolean));
  }
  const ordered = new Set<string>();
  for (const name of names) {
    const path = [...needs.keys()].find((each) => new RegExp(String.raw`/${name}\.ko(?:\.xz)?$`).test(each));
    // Some kernels have some of them built in.
    if (path !== undefined)
      for (const each of [...(needs.get(path) ?? []).toReversed(), path]) ordered.add(join(folder, each));
  }
  return [...ordered];
}

/** A program with its libraries. */
async function addProgram(files: GuestFiles, path: string, from: string): Promise<void> {
  files.set(path.slice(1), from);
  const { stdout } = await run('ldd', [from]).catch(() => ({ stdout: '' }));
  for (const [library] of stdout.matchAll(/\/\S+/g)) files.set(library.slice(1), library);
}

/** Writes an archive that a kernel unpacks at its start (Documentation/driver-api/early-userspace/buffer-format.rst). */
export function writeArchive(path: string, files: GuestFiles): void {
  const fd = openSync(path, 'w');
  const folders = new Set<string>(['.']);
  let inode = 1;
  for (const name of ['proc', 'sys', 'dev', 'run', 'tmp']) addFolder(name);
  for (const [name, from] of files) {
    addFolder(dirname(name));
    add(name, 0o100_755, typeof from === 'string' ? readFileSync(from) : from);
  }
  add('TRAILER!!!', 0, Buffer.alloc(0));
  closeSync(fd);

  function addFolder(name: string): void {
    if (folders.has(name)) return;
    addFolder(dirname(name));
    folders.add(name);
    add(name, 0o40_755, Buffer.alloc(0));
  }

  function add(name: string, mode: number, content: Buffer): void {
    const numbers = [inode++, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
    const header = `070701${numbers.map((number) => number.toString(16).padStart(8, '0')).join('')}${name}\0`;
    for (const part of [Buffer.from(header, 'latin1'), content])
      writeSync(fd, Buffer.concat([part, Buffer.alloc((4 - (part.length % 4)) % 4)]));
  }
}

/** The guest reaches this machine's loopback as 10.0.2.2; the guest itself cannot be reached. */
async function start(kernel: string, image: string, processors: string): Promise<string> {
  const machine = spawn(
    'setpriv',
    [
      ...'--pdeathsig KILL -- qemu-system-x86_64'.split(' '),
      ...`${processors} -cpu max -m 1024 -nographic -no-reboot -nic user,model=virtio-net-pci`.split(' '),
      '-kernel',
      kernel,
      '-initrd',
      image,
      '-append',
      'console=ttyS0 quiet panic=-1 no_timer_check rdinit=/bin/node -- /program.cjs',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let printed = '';
  let isSilent = false;
  const silent = setTimeout(() => (isSilent = machine.kill('SIGKILL')), SILENT_MS);
  machine.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    silent.refresh();
  });
  await new Promise((resolve, reject) => machine.on('close', resolve).on('error', reject));
  clearTimeout(silent);
  return printed.replaceAll('\r', '') + (isSilent ? `\n${silence}` : '');
}
