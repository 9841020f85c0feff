import { join } from 'node:path';
import { defineConfig, type UserProjectConfigExport } from 'vitest/config';

/**
 * Files that flood the kernel's log, read all of it, fill the kernel's tables or hold its locks. They run one at a
 * time.
 */
const kernel = [
  'journal/**/*.test.ts',
  'kube-proxy/**/*.test.ts',
  'logging/**/*.test.ts',
  'network/**/*.test.ts',
  'bpf/*.test.ts',
];

const controlPlane = './control-plane/global-setup.ts';

/** Reached only if a test hangs; a loaded machine is slow. */
const timeouts = {
  testTimeout: 240_000,
  hookTimeout: 240_000,
  teardownTimeout: 20_000,
  // By default a second.
  expect: { poll: { timeout: 60_000 } },
};

/**
 * How many tests of a file may run at the same time (`describe.concurrent`): mostly they wait for the agent's
 * intervals.
 */
const maxConcurrency = 16;

/** Files that need real nodes share one cluster, one file after another. */
const node = ['cluster/**/*.test.ts'];

/** These run only on request, because building or emulating their programs takes minutes. */
const onRequest = ['**/on-request/*.test.ts'];

/**
 * Files that boot a node of their own in QEMU, which takes minutes, and do not need the other tests' control plane.
 * They run only on request.
 */
const guest = ['guest-node/**/*.test.ts'];

/**
 * Five projects, one after another, each with a control plane of its own; `.ci/run` runs `cluster` at the same time as
 * `kernel` and `node`. While one file waits for an API server, another continues.
 */
export default defineConfig({
  // Otherwise a cache folder appears next to this file.
  cacheDir: join(import.meta.dirname, '../../node_modules/.vite'),
  test: {
    root: import.meta.dirname,
    projects: [
      project('kernel', 1, { include: kernel, maxWorkers: 1, setup: controlPlane }),
      project('cluster', 2, {
        include: ['**/*.test.ts'],
        exclude: [...kernel, ...node, ...onRequest, ...guest],
        maxWorkers: 2,
        setup: controlPlane,
      }),
      project('node', 3, { include: node, maxWorkers: 1, setup: './cluster/global-setup.ts' }),
      project('on-request', 4, { include: onRequest, maxWorkers: 1, setup: controlPlane }),
      project('guest', 5, { include: guest, maxWorkers: 1 }),
    ],
  },
});

function project(
  name: string,
  groupOrder: number,
  { setup, ...files }: { include: string[]; exclude?: string[]; maxWorkers: number; setup?: string },
): UserProjectConfigExport {
  const root = import.meta.dirname;
  const setupFiles = join(root, '../setup.ts');
  // Not once for all projects: Vitest would run that after the projects' own set-ups, which already need the programs
  // that it installs.
  const globalSetup = ['./global-setup.ts', ...(setup === undefined ? [] : [setup])];
  return {
    test: { name, root, setupFiles, sequence: { groupOrder }, maxConcurrency, ...timeouts, ...files, globalSetup },
  };
}
