/**
 * The images of the tests, built by Buildah without a registry: the Dockerfile's, on stand-ins for its bases (scripts/image-bases.sh), and
 * what else the nodes run. Layers are kept in the cache folder, so that a build takes seconds where only sources have changed.
 */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ensurePrograms } from '../control-plane/build.ts';
import { withLock } from '../control-plane/lock.ts';
import { run } from '../network/command.ts';
import { PAUSE_IMAGE } from './node-configuration.ts';

/**
 * The image has kube-proxy alone, which starts programs of the machine (kube-proxy.yaml): with a Debian it would be the
 * largest image.
 */
export const KUBE_PROXY_IMAGE = 'localhost/kube-proxy:2';

/** Stands in for the image that docs/quickstart.md names: the busybox of this machine. */
export const BUSYBOX_IMAGE = 'docker.io/library/busybox:1.37';

/** Layers that are not kept yet take minutes; only what hangs takes so long. */
const buildsWithin = 1_800_000;

const linksOfBusybox = Object.fromEntries(['sh', 'sleep', 'nc'].map((name) => [`bin/${name}`, '/bin/busybox']));

const linksOfKubeProxy: Readonly<Record<string, string>> = {
  lib: 'usr/lib',
  lib64: 'usr/lib64',
  ...Object.fromEntries(
    ['', '-save', '-restore'].flatMap((verb) =>
      ['ip', 'ip6'].map((family) => [`iptables/${family}tables${verb}`, '/usr/sbin/xtables-nft-multi']),
    ),
  ),
};

const root = join(import.meta.dirname, '../../..');
const cache = join(homedir(), '.cache/kube-netfilter-tailer/images');
const DEBIAN = 'localhost/stand-in/debian';
const NODE = 'localhost/stand-in/node';
const BUILD = ['build', '--quiet', '--layers', '--pull-never', '--isolation=chroot'];
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

/** Builds a target of the Dockerfile: `plain` or `journal`. `context`: a checkout; `more`: options for Buildah. */
export async function buildAgentImage(
  target: string,
  reference: string,
  context = root,
  more: readonly string[] = [],
): Promise<void> {
  const npmrc = join(homedir(), '.npmrc');
  const secrets = existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : [];
  const bases = ['--build-arg', `NODE_IMAGE=${NODE}`, '--build-arg', `DEBIAN_IMAGE=${DEBIAN}`];
  const platform = `--platform=linux/${architecture}`;
  const names = ['--target', target, '--tag', reference];
  await buildah([...BUILD, platform, ...secrets, ...bases, ...names, ...more, context]);
}

/** Calls `use` with a folder that has the files of an image. */
export async function withFiles(reference: string, use: (folder: string) => Promise<void>): Promise<void> {
  const container = (await buildah(['from', '--pull-never', reference])).trim();
  try {
    await use((await buildah(['mount', container])).trim());
  } finally {
    await buildah(['rm', container]);
  }
}

/** Writes an archive with the images under their names, for `ctr images import`. */
export async function writeArchive(reference: string, file: string): Promise<void> {
  rmSync(file, { force: true });
  await buildah(['push', '--quiet', reference, `docker-archive:${file}:${reference}`]);
}

/**
 * The bases of the Dockerfile, and what the nodes run besides the agent: PAUSE_IMAGE, KUBE_PROXY_IMAGE, BUSYBOX_IMAGE.
 */
export async function ensureImages(): Promise<void> {
  const binaries = await ensurePrograms(['pause', 'kube-proxy']);
  await withLock(
    'kube-netfilter-tailer-images',
    () => {},
    async () => {
      const bases = await ensureBases();
      await build(DEBIAN, 'FROM scratch\nADD debian.tar /', [join(bases, 'debian.tar')]);
      await build(NODE, 'FROM scratch\nADD node.tar /', [join(bases, 'node.tar')]);
      await build(PAUSE_IMAGE, 'FROM scratch\nCOPY pause /\nENTRYPOINT ["/pause"]', [binaries.pause]);
      const dockerfile = 'FROM scratch\nCOPY kube-proxy links /';
      await build(KUBE_PROXY_IMAGE, dockerfile, [binaries['kube-proxy']], linksOfKubeProxy);
      await build(BUSYBOX_IMAGE, 'FROM scratch\nCOPY busybox /bin/\nCOPY links /', ['/bin/busybox'], linksOfBusybox);
    },
  );
}

/** Archives of the two stand-ins. They are made again if the script or the packed Node.js has changed. */
async function ensureBases(): Promise<string> {
  const script = join(root, 'scripts/image-bases.sh');
  const digest = createHash('sha256').update(readFileSync(script)).update(process.version).digest('hex');
  const folder = join(cache, `bases-${digest.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  process.stderr.write('[images] making stand-ins for the base images (once, about 1 min on two cores) ...\n');
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(join(cache, 'unfinished-'));
  try {
    await run('bash', [script, unfinished], '', buildsWithin);
    rmSync(join(unfinished, 'debian'), { recursive: true });
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/**
 * The Dockerfile copies `files`, and `links` from a folder of that name. Does nothing if the image was made from the
 * same content: to find that out, Buildah would read all of it.
 */
async function build(
  reference: string,
  dockerfile: string,
  files: readonly string[],
  links: Readonly<Record<string, string>> = {},
): Promise<void> {
  const stats = files.map((file) => [file, statSync(file).size, statSync(file).mtimeMs]);
  const madeOf = createHash('sha256')
    .update(JSON.stringify([dockerfile, stats, links]))
    .digest('hex');
  // Next to the image and not in it, because images that are built on it would be built again.
  const record = join(cache, `made-of-${encodeURIComponent(reference)}`);
  const isThere = await buildah(['inspect', '--type=image', reference]).catch(() => undefined);
  if (isThere !== undefined && existsSync(record) && readFileSync(record, 'utf8') === madeOf) return;
  const folder = mkdtempSync(join(cache, 'context-'));
  try {
    for (const file of files) linkOrCopy(file, join(folder, basename(file)));
    for (const [path, target] of Object.entries(links)) {
      mkdirSync(dirname(join(folder, 'links', path)), { recursive: true });
      symlinkSync(target, join(folder, 'links', path));
    }
    writeFileSync(join(folder, 'Dockerfile'), `${dockerfile}\n`);
    await buildah([...BUILD, '--tag', reference, folder]);
    writeFileSync(record, madeOf);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Links a file, because it may be large; copies it if the cache is on another file system. */
function linkOrCopy(file: string, to: string): void {
  try {
    linkSync(file, to);
  } catch {
    copyFileSync(file, to);
  }
}

/** Returns buildah's output. */
async function buildah(args: readonly string[]): Promise<string> {
  // vfs if this machine's own root is an overlay, because an overlay on it is not possible.
  const driver = /^overlay \/ /m.test(readFileSync('/proc/mounts', 'utf8')) ? 'vfs' : 'overlay';
  const storage = ['--root', join(cache, 'storage'), '--runroot', join(cache, 'run'), '--storage-driver', driver];
  return (await run('buildah', [...storage, ...args], '', buildsWithin)).stdout;
}
