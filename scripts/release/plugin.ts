// The kubectl plugin as krew installs it: an archive, and the manifest that names it (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { type Project, root } from './project.ts';
import { pack } from './run.ts';

/** Writes the archive and `drops.yaml` into a folder. Returns their paths. */
export function makePlugin(project: Project, output: string): string[] {
  const name = `kubectl-drops-${project.version}`;
  const folder = join(output, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  copyFileSync(join(root, 'deploy/kubectl-plugin/kubectl-drops'), join(folder, 'kubectl-drops'));
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const archive = join(output, `${name}.tar.gz`);
  pack(output, name, archive);
  rmSync(folder, { recursive: true });
  const manifest = join(output, 'drops.yaml');
  writeFileSync(manifest, dump(manifestOf(project, name, sha256Of(archive)), { lineWidth: -1 }));
  return [archive, manifest];
}

function manifestOf({ version, homepage }: Project, name: string, sha256: string): object {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'drops' },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: 'List the packets that Pods lost to netfilter',
      description:
        'Lists the packets that Pods of a namespace lost, newest last: from whom to whom, which port, and which policy\n' +
        'dropped them. It reads the Events of kube-netfilter-tailer, whose agent has to run in the cluster.\n',
      platforms: [
        {
          // A shell script: wherever there is a shell.
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
          uri: `${homepage}/releases/download/v${version}/${name}.tar.gz`,
          sha256,
          files: [
            { from: `${name}/kubectl-drops`, to: '.' },
            { from: `${name}/LICENSE`, to: '.' },
          ],
          bin: 'kubectl-drops',
        },
      ],
    },
  };
}

export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
