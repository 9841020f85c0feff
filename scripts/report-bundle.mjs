/**
 * `report` is a file of its own, beside the program that loads it when it is asked for: the agent does not need it, and the image leaves
 * it out. For the bundle of the program.
 *
 * @type {import('esbuild').Plugin}
 */
export const withoutReport = {
  name: 'without-report',
  setup(build) {
    build.onResolve({ filter: /\/commands\/report\.ts$/ }, () => ({ path: `./${reportFile}`, external: true }));
  },
};

export const reportFile = 'kube-netfilter-tailer-report.cjs';

/** @type {import('esbuild').BuildOptions} */
export const reportOptions = {
  entryPoints: ['src/commands/report.ts'],
  outfile: `dist/${reportFile}`,
  // 70 MB of native code, which npm installs where there is some for the platform.
  external: ['@duckdb/node-api'],
};
