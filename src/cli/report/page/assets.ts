/** Makes the script and the style of the page with esbuild. The build replaces this file by their texts (scripts/report-bundle.mjs). */
import { join } from 'node:path';
import { build } from 'esbuild';

export interface PageAssets {
  script: string;
  style: string;
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
  return { script: contentOf('.js'), style: contentOf('.css') };
}
