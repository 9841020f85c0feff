import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as esbuild from 'esbuild';
import { kubeconfigOnly } from './kubeconfig-only.mjs';
import { reportOptions, withoutReport } from './report-bundle.mjs';

/**
 * The image ships one file, so what the program reads from data/ is written into the bundle where it is read.
 *
 * @type {import('esbuild').Plugin}
 */
const embedData = {
  name: 'embed-data',
  setup(build) {
    build.onLoad({ filter: /[/\\]drops[/\\]names\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const [call, file] = /readFileSync\(new URL\('([^']+)', import\.meta\.url\), 'latin1'\)/.exec(source) ?? [];
      if (call === undefined) throw new Error(`${path} does not read a file as expected`);
      const text = JSON.stringify(await readFile(join(dirname(path), file), 'latin1'));
      return { contents: source.replace(call, () => text), loader: 'ts' };
    });
  },
};

const { engines, homepage, version } = JSON.parse(await readFile('package.json', 'utf8'));
/** Where the documents of this version are; a checkout without a home has none. */
const documents = homepage.includes('/OWNER/') ? undefined : `${homepage}/blob/v${version}`;

/** @type {import('esbuild').BuildOptions & { write: false }} */
const common = {
  bundle: true,
  // Less to read at start, and less memory.
  minify: true,
  platform: 'node',
  define: { 'process.env.DOCS_URL_OF_RELEASE': JSON.stringify(documents) ?? 'undefined' },
  // As an ES module the same file takes 5 MB more memory: its text is kept in two bytes a character, and importing
  // `node:http` loads the fetch that comes with Node.js.
  format: 'cjs',
  // Node.js 16 and newer read the whole file before one of them says that it is too old. Nothing in it has to be rewritten for that.
  target: 'node16.20',
  sourcemap: 'linked',
  legalComments: 'linked',
  logLevel: 'warning',
  write: false,
};

const builds = await Promise.all([
  // The one file that the image ships.
  esbuild.build({
    ...common,
    entryPoints: ['src/main.ts'],
    outfile: 'dist/kube-netfilter-tailer.cjs',
    plugins: [embedData, withoutReport, kubeconfigOnly],
    banner: { js: `"use strict";(${String(refuseOldNode)})(${JSON.stringify(engines.node.replace('>=', ''))});` },
  }),
  esbuild.build({ ...common, ...reportOptions }),
]);

// Another process may be starting the file of an earlier build: each file is replaced as a whole.
for (const { path, text } of builds.flatMap(({ outputFiles }) => outputFiles)) {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, path.endsWith('.cjs') ? escaped(text) : text, {
    mode: path.endsWith('.cjs') ? 0o755 : 0o644,
  });
  await rename(unfinished, path);
}

/**
 * Runs before anything else of the bundle, as text of its own. An older Node.js would fail later, and show the line of two megabytes that it failed in. Of
 * the npm package bin/ says the same, and to those that cannot even read the bundle.
 *
 * @param {string} needed
 */
function refuseOldNode(needed) {
  const [major = 0, minor = 0] = needed.split('.').map(Number);
  const [ownMajor = 0, ownMinor = 0] = process.versions.node.split('.').map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  const { execPath, versions } = process;
  const text = `kube-netfilter-tailer needs Node.js ${needed} or newer; this is ${versions.node} (${execPath}).\n`;
  require('node:fs').writeSync(2, text);
  process.exit(1);
}

/**
 * One character past Latin-1, and V8 keeps the whole text in two bytes a character. esbuild escapes strings, but leaves regular
 * expressions as they are.
 *
 * @param {string} code
 */
function escaped(code) {
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
