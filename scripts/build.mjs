import { build } from 'esbuild';

/** The one file that the image ships. Minified: less to read at start, and less memory. */
await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/kube-netfilter-tailer.mjs',
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  sourcemap: 'linked',
  // Bundled CommonJS packages ask for `require`, which an ES module has not.
  banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  legalComments: 'linked',
  logLevel: 'warning',
});
