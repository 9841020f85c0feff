// The Helm chart of a release: that of the checkout, which names no image, with the image of the release.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { chartFolder, ownerOf, type Project, root } from './project.ts';
import { pack } from './run.ts';

/** Writes `NAME-VERSION.tgz`, as `helm package` names it, into a folder. Returns its path. */
export function makeChart(project: Project, output: string): string {
  const name = basename(chartFolder);
  const folder = join(output, name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(root, chartFolder), folder, { recursive: true });
  const values = join(folder, 'values.yaml');
  const text = readFileSync(values, 'utf8');
  const [registry, ...repository] = imageOf(project).split('/');
  const unset = "  registry: ''\n";
  const named = text
    .replace(unset, `  registry: ${registry}\n`)
    .replace("  repository: ''\n", `  repository: ${repository.join('/')}\n`);
  if (!named.includes(repository.join('/')) || named.includes(unset))
    throw new Error(`${chartFolder}/values.yaml: image.registry and image.repository are not where they were`);
  writeFileSync(values, named);
  const archive = join(output, `${name}-${project.version}.chart.tgz`);
  pack(output, name, archive);
  rmSync(folder, { recursive: true });
  return archive;
}

export function imageOf(project: Project): string {
  return `ghcr.io/${ownerOf(project)}/${project.name}`;
}
