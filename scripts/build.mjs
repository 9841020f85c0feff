import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as esbuild from 'esbuild';

/**
 * The image ships one file, so what the program reads from data/ is written into the bundle where it is read.
 *
 * @type {import('esbuild').Plugin}
 */
const embedData = {
  name: 'embed-data',
  setup(build) {
    build.onLoad({ filter: /[/\\]iana-ports\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const [call, file] = /readFileSync\(new URL\('([^']+)', import\.meta\.url\), 'latin1'\)/.exec(source) ?? [];
      if (call === undefined) throw new Error(`${path} does not read a file as expected`);
      const text = JSON.stringify(await readFile(join(dirname(path), file), 'latin1'));
      return { contents: source.replace(call, () => text), loader: 'ts' };
    });
  },
};

/** The one file that the image ships. Minified: less to read at start, and less memory. */
const { outputFiles } = await esbuild.build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/kube-netfilter-tailer.cjs',
  bundle: true,
  plugins: [embedData],
  minify: true,
  platform: 'node',
  // As an ES module the same file takes 5 MB more memory: its text is kept in two bytes a character, and importing
  // `node:http` loads the fetch that comes with Node.js.
  format: 'cjs',
  target: 'node24',
  sourcemap: 'linked',
  legalComments: 'linked',
  logLevel: 'warning',
  write: false,
});

// Another process may be starting the file of an earlier build: each file is replaced as a whole.
for (const { path, text } of outputFiles) {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, path.endsWith('.cjs') ? escaped(text) : text, {
    mode: path.endsWith('.cjs') ? 0o755 : 0o644,
  });
  await rename(unfinished, path);
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
