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
  // The whole name in one value: a user who names an image of his own replaces all of it, and no part of this one is left.
  const unset = "  repository: ''\n";
  const named = text.replace(unset, `  repository: ${imageOf(project)}\n`);
  if (named === text || named.includes(unset))
    throw new Error(`${chartFolder}/values.yaml: image.repository is not where it was`);
  writeFileSync(values, named);
  const readme = join(folder, 'README.md');
  // Whoever reads it from a registry has no checkout around it.
  const at = `${project.homepage}/blob/v${project.version}/`;
  writeFileSync(readme, readFileSync(readme, 'utf8').replaceAll('](../../../', `](${at}`));
  const archive = join(output, `${name}-${project.version}.chart.tgz`);
  pack(output, name, archive);
  rmSync(folder, { recursive: true });
  return archive;
}

export function imageOf(project: Project): string {
  return `ghcr.io/${ownerOf(project)}/${project.name}`;
}
