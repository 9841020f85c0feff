import { join } from 'node:path';
import { defineConfig, type UserProjectConfigExport } from 'vitest/config';

/** Files that flood the kernel's log, read all of it, fill the kernel's tables or hold its locks run one at a time. */
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

/** Tests of one file that may run at the same time (`describe.concurrent`): they wait for the agent's intervals, mostly. */
const maxConcurrency = 16;

/** Files that need real nodes share one cluster, one file after another. */
const node = ['cluster/**/*.test.ts'];

/** These run only when they are asked for: their programs are built for minutes, or run in an emulator for minutes. */
const onRequest = ['**/on-request/*.test.ts'];

/** Files that boot a node of their own in QEMU, which takes minutes, and do without the control plane of the others: run only when they are asked for. */
const guest = ['guest-node/**/*.test.ts'];

/**
 * Five projects, one after another, each with a control plane of its own; `.ci/run` runs `cluster` beside `kernel` and `node`.
 * What waits for an API server lets another file go on meanwhile.
 */
export default defineConfig({
  // Else one appears beside this file.
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
  // Not once for all projects: Vitest would run that after the ones of projects, which already need the programs that it installs.
  const globalSetup = ['./global-setup.ts', ...(setup === undefined ? [] : [setup])];
  return {
    test: { name, root, setupFiles, sequence: { groupOrder }, maxConcurrency, ...timeouts, ...files, globalSetup },
  };
}
