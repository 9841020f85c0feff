// The npm package: the bundle and what starts it. Nothing has to be installed beside it, so `npx` fetches one archive.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Project, root } from './project.ts';
import { run } from './run.ts';

/** Writes `NAME-VERSION.tgz` into a folder; `notices`: the licences of all that is in the bundle. Returns its path. */
export function makeNpmPackage(project: Project, output: string, notices: string): string {
  const folder = join(output, 'npm');
  rmSync(folder, { recursive: true, force: true });
  const files = {
    'dist/kube-netfilter-tailer.cjs': '',
    'bin/kube-netfilter-tailer.cjs': '',
    'bin/kubectl-drops.cjs': '',
    'README.md': '',
    LICENSE: '',
  };
  for (const file of Object.keys(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  copyFileSync(notices, join(folder, 'THIRD-PARTY-LICENCES.txt'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(project), undefined, 2)}\n`);
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', output], folder),
  ) as [{ filename: string }];
  rmSync(folder, { recursive: true });
  return join(output, packed.filename);
}

/** The manifest that a registry and `npx` read, without anything of how it is developed. */
export function manifestOf(project: Project): object {
  const { name, version, description, license, keywords, homepage, bugs, repository, bin, engines } = project;
  const publishConfig = { access: 'public', provenance: true };
  return { name, version, description, license, keywords, homepage, bugs, repository, bin, engines, publishConfig };
}
