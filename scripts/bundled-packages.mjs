import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { kubeconfigOnly } from './kubeconfig-only.mjs';
import { withoutReport } from './report-bundle.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The npm packages that esbuild takes something of for the bundle, sorted by folder, as package-lock.json has them.
 * `dependencies`: folders of the bundled packages that one depends on.
 */
export async function bundledPackages() {
  // Which files get into the bundle does not depend on how it is minified.
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts'],
    bundle: true,
    plugins: [withoutReport, kubeconfigOnly],
    platform: 'node',
    format: 'cjs',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const folders = new Set(
    Object.values(metafile.outputs)
      .flatMap(({ inputs }) => Object.entries(inputs))
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .flatMap(([file]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []),
  );
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return [...folders].toSorted().map((folder) => {
    const { version, license, integrity, dependencies = {} } = packages[folder];
    return {
      folder,
      name: folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      integrity,
      dependencies: Object.keys(dependencies).flatMap((name) => foundFrom(folder, name, folders)),
    };
  });
}

/**
 * The folder that Node.js finds a package in: below the one that asks for it, or beside it, or further up. Nothing where that one is
 * not bundled.
 *
 * @param {string} folder
 * @param {string} name
 * @param {ReadonlySet<string>} folders
 */
function foundFrom(folder, name, folders) {
  const places = [
    `${folder}/`,
    ...folder.split('node_modules/').map((_, index, parts) => parts.slice(0, -1 - index).join('node_modules/')),
  ];
  return places.map((place) => `${place}node_modules/${name}`).find((path) => folders.has(path)) ?? [];
}
