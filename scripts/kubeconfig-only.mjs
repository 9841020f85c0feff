/**
 * Of @kubernetes/client-node the program takes the kubeconfig, and no API client: those, and the fetch that they are made for, are two fifths of
 * the bundle, and the agent would keep their text in memory.
 *
 * @type {import('esbuild').Plugin}
 */
export const kubeconfigOnly = {
  name: 'kubeconfig-only',
  setup(build) {
    build.onResolve({ filter: /^(?:undici|\.\/gen\/index\.js)$/ }, ({ importer, path }) =>
      /[/\\]client-node[/\\]dist[/\\]config\.js$/.test(importer) ? { path, namespace: 'left-out' } : undefined,
    );
    build.onLoad({ filter: /^/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
  },
};
