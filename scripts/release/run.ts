import { execFileSync } from 'node:child_process';
import { root } from './project.ts';

/** Runs a program in the project's folder. Throws with what it printed where it fails. */
export function run(program: string, args: readonly string[], cwd: string = root): string {
  try {
    return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${`${stdout}${stderr}`.trim() || message}`, {
      cause: error,
    });
  }
}

/** Packs a folder beside it. The same files come to the same bytes on every machine: no times, no owners. */
export function pack(folder: string, name: string, archive: string): void {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r,go-w'];
  run('tar', [...fixed, '--use-compress-program=gzip -n', '-cf', archive, '-C', folder, name]);
}
