/**
 * `report` is a file of its own, beside the program that loads it when it is asked for: the agent does not need it, and the image leaves
 * it out. For the bundle of the program.
 *
 * @type {import('esbuild').Plugin}
 */
export const withoutReport = {
  name: 'without-report',
  setup(build) {
    build.onResolve({ filter: /\/run-report\.ts$/ }, () => ({ path: `./${reportFile}`, external: true }));
  },
};

export const reportFile = 'kube-netfilter-tailer-report.cjs';

/**
 * The script and the style of the page, which the sources make when they need them.
 *
 * @type {import('esbuild').Plugin}
 */
const embedPage = {
  name: 'embed-page',
  setup(build) {
    build.onLoad({ filter: /[/\\]report[/\\]page[/\\]assets\.ts$/ }, async () => {
      const { pageAssets } = await import('../src/cli/report/page/assets.ts');
      const assets = JSON.stringify(await pageAssets());
      return { contents: `const assets = ${assets};\nexport const pageAssets = () => Promise.resolve(assets);` };
    });
  },
};

/** @type {import('esbuild').BuildOptions} */
export const reportOptions = {
  entryPoints: ['src/cli/report/run-report.ts'],
  outfile: `dist/${reportFile}`,
  plugins: [embedPage],
  // 70 MB of native code, which npm installs where there is some for the platform.
  external: ['@duckdb/node-api'],
};
