// The kubectl plugin as krew installs it (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/): for Linux the executables of the
// release, for macOS what the npm package has: the bundle, and what says which Node.js it needs where there is an older one. krew makes the link
// `kubectl-drops`, and the program looks at that name.
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { dump } from 'js-yaml';
import { manifestOf as manifestOfPackage } from './npm-package.ts';
import { type Project, root } from './project.ts';
import { pack } from './run.ts';

export interface PluginParts {
  readonly output: string;
  /** The licences of all that is in the bundle. */
  readonly notices: string;
  /** Archives of executables, each with the processor as Node.js names it. */
  readonly executables: readonly { readonly processor: string; readonly archive: string }[];
}

/** The files of the archive for macOS. The last one is what kubectl starts. */
const bundled = ['dist/kube-netfilter-tailer.cjs', 'bin/kube-netfilter-tailer.cjs', 'bin/kubectl-drops.cjs'] as const;

/** Writes the archive for macOS and `drops.yaml` into a folder. Returns their paths. */
export function makePlugin(project: Project, { output, notices, executables }: PluginParts): string[] {
  const name = `kubectl-drops-${project.version}`;
  const folder = join(output, name);
  rmSync(folder, { recursive: true, force: true });
  for (const file of [...bundled, 'LICENSE']) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  chmodSync(join(folder, bundled[2]), 0o755);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOfPackage(project), undefined, 2)}\n`);
  copyFileSync(notices, join(folder, 'THIRD-PARTY-LICENCES.txt'));
  const archive = join(output, `${name}.tar.gz`);
  pack(output, name, archive);
  rmSync(folder, { recursive: true });
  const manifest = join(output, 'drops.yaml');
  const platforms = [
    ...executables.map(({ processor, archive: file }) => ({
      selector: { matchLabels: { os: 'linux', arch: processor === 'x64' ? 'amd64' : processor } },
      ...placeOf(project, file, project.name, [project.name, 'LICENSE', 'THIRD-PARTY-LICENCES.txt']),
    })),
    { selector: { matchLabels: { os: 'darwin' } }, ...placeOf(project, archive, bundled[2], ['*']) },
  ];
  writeFileSync(manifest, dump(manifestOf(project, platforms), { lineWidth: -1 }));
  return [archive, manifest];
}

/** Where krew gets an archive, which of its files it keeps (krew moves a folder, but makes none), and which of them kubectl starts. */
function placeOf({ version, homepage }: Project, archive: string, bin: string, files: readonly string[]): object {
  const file = basename(archive);
  const folder = file.replace(/\.tar\.gz$/, '');
  return {
    uri: `${homepage}/releases/download/v${version}/${file}`,
    sha256: sha256Of(archive),
    files: files.map((name) => ({ from: `${folder}/${name}`, to: '.' })),
    bin,
  };
}

function manifestOf({ version, homepage }: Project, platforms: readonly object[]): object {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'drops' },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: 'List the packets that Pods lost to netfilter',
      description:
        'Lists the packets that Pods of a namespace lost, newest last: from whom to whom, which port, and how often.\n' +
        'It reads the Events of kube-netfilter-tailer, whose agent has to run in the cluster.\n',
      caveats: 'On macOS it needs Node.js 24.12 or newer on the PATH; on Linux it needs nothing.\n',
      platforms,
    },
  };
}

export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
