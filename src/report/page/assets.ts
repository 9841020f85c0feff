/** Makes the script and the style of the page with esbuild. The build replaces this file by their texts (scripts/report-bundle.mjs). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

export interface PageAssets {
  script: string;
  style: string;
  /** The text of the licences as HTML. */
  licences: string;
}

export async function pageAssets(): Promise<PageAssets> {
  const folder = join(import.meta.dirname, 'client');
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'main.ts'), join(folder, 'style.css')],
    outdir: 'page',
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  });
  const contentOf = (ending: string): string =>
    outputFiles.find(({ path }) => path.endsWith(ending))?.text.trim() ?? '';
  return { script: contentOf('.js'), style: contentOf('.css'), licences: await licencesHtml() };
}

/** The page must contain the licences of its libraries. */
async function licencesHtml(): Promise<string> {
  const packages = join(import.meta.dirname, '../../../node_modules');
  const texts = ['echarts', 'zrender', 'tabulator-tables'].map(async (name) => {
    const read = (file: string): Promise<string> => readFile(join(packages, name, file), 'utf8');
    const { version } = JSON.parse(await read('package.json')) as { version: string };
    return `${name} ${version}\n\n${await read('LICENSE')}`;
  });
  return (await Promise.all(texts)).join('\n\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
