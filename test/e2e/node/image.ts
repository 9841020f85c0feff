import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageCommand, imageCommand } from '../../deploy/image-command.ts';

const root = join(import.meta.dirname, '../../..');
const PROGRAM = '/usr/local/bin/kube-netfilter-tailer';

/** What a container's root is made of, and how its program is started. */
export interface Image extends Pick<ImageCommand, 'entrypoint' | 'cmd' | 'env'> {
  /** Its root, of which each container gets a copy. */
  readonly rootfs: string;
  /** Programs and libraries of this machine that stand for those of the image, by their path in it. */
  readonly binds: Readonly<Record<string, string>>;
}

/**
 * The image that the Dockerfile makes, as far as this machine can stand for it: its entrypoint and environment, the built bundle
 * (dist/) and the node that runs this; with `journalctl` as in the target `journal`. No shell. The libraries are this machine's.
 */
export function agentImage(folder: string, { journalctl }: { readonly journalctl: boolean }): Image {
  const rootfs = join(folder, `image-${journalctl ? 'journal' : 'plain'}`);
  for (const place of [
    'usr/bin',
    'usr/lib',
    'usr/lib64',
    'usr/local/bin',
    'etc',
    'proc',
    'sys',
    'dev',
    'tmp',
    'run',
    'var',
  ])
    mkdirSync(join(rootfs, place), { recursive: true });
  for (const place of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${place}`, join(rootfs, place));
  symlinkSync('/run', join(rootfs, 'var/run'));
  const bundle = readFileSync(join(root, 'dist/kube-netfilter-tailer.cjs'), 'utf8');
  // As the Dockerfile does.
  const program = bundle.replace(/^#!.*/, '#!/usr/local/bin/node');
  writeFileSync(join(rootfs, PROGRAM), program, { mode: 0o755 });
  const binds: Record<string, string> = { '/usr/lib': '/usr/lib', '/usr/local/bin/node': process.execPath };
  if (existsSync('/usr/lib64')) binds['/usr/lib64'] = '/usr/lib64';
  if (journalctl) binds['/usr/bin/journalctl'] = realpathSync('/usr/bin/journalctl');
  for (const place of Object.keys(binds)) if (!existsSync(join(rootfs, place))) writeFileSync(join(rootfs, place), '');
  return { ...imageCommand(), rootfs, binds };
}
