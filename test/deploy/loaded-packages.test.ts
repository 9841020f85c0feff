import { build, type Metafile } from 'esbuild';
import { expect, test } from 'vitest';
import { root } from './manifests.ts';

const tables: { loaded: [string, string, string[]][] } = {
  // The packages that each command loads at once.
  loaded: [
    [
      'an agent in a Pod',
      'src/agent/run.ts',
      ['commander', 'exponential-backoff', 'ipaddr.js', 'js-yaml', 'lru-cache', 'pino', 'prom-client', 'tail', 'zod'],
    ],
    [
      'a replica of the shared directory',
      'src/cli/directory.ts',
      ['commander', 'exponential-backoff', 'ipaddr.js', 'js-yaml', 'lru-cache', 'pino', 'prom-client', 'zod'],
    ],
    ['replay', 'src/cli/replay/replay.ts', ['commander', 'ipaddr.js', 'js-yaml', 'lru-cache', 'pino', 'zod']],
  ],
};

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  bundle: true,
  // Only `report` needs this package, and it has native code.
  external: ['@duckdb/node-api'],
  platform: 'node',
  metafile: true,
  write: false,
  logLevel: 'silent',
});

/** A package that a command imports on demand takes no memory in other commands, except for its text in the bundle. */
test.each(tables.loaded)('%s loads these packages at once', (_, command, packages) => {
  const direct = [...loadedBy(metafile, ['src/main.ts', command])];
  expect(direct.toSorted()).toEqual(packages);
});

/** Returns the packages that are loaded together with these files, that is, without dynamic imports. */
function loadedBy({ inputs }: Metafile, files: string[]): Set<string> {
  const packages = new Set<string>();
  const seen = new Set(files);
  for (const file of seen)
    for (const { path, kind } of inputs[file]?.imports ?? []) {
      const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
      if (kind === 'dynamic-import') continue;
      if (name !== undefined) packages.add(name);
      else if (path.startsWith('src/')) seen.add(path);
    }
  return packages;
}
