import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;
const include = ['test/**/*.test.ts'];
/** Those need a control plane, and have a configuration of their own. */
const exclude = ['test/e2e/**'];

const files = globSync(include, { cwd: root, exclude });

/** Files that measure the heap. */
const memory = filesWith(/\.\.\/heap\.ts'/);

/**
 * Files with processes of their own: those that mock a module, because it cannot be mocked any more when another file has loaded it, and
 * those that measure memory or processor time, count timers, or wait for an object to be freed.
 */
const alone = filesWith(/vi\.mock\(|process\.(?:\w+Usage|getActiveResourcesInfo)/).filter(
  (file) => !memory.includes(file),
);

function filesWith(pattern: RegExp): string[] {
  return files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')));
}

/** What each project and the run of mutants have in common. */
export const common = {
  root,
  setupFiles: 'test/setup.ts',
  // Only what hangs: a test runs up to six programs of a minute at most (test/cli/program.ts), a loaded machine is slow, and
  // `npm run fuzz` generates more.
  testTimeout: process.env['FUZZ'] === undefined ? 480_000 : 600_000,
  hookTimeout: 120_000,
  // By default a second, in which a loaded machine does not even load gRPC.
  expect: { poll: { timeout: 60_000 } },
};

export const globalSetup = 'test/programs/unit-setup.ts';

export default defineConfig({
  test: {
    globalSetup,
    // By default one core is left idle, which is half of a small machine.
    maxWorkers: '100%',
    projects: [
      // Other files share processes, because loading the modules again for each file takes as long as the tests.
      { test: { ...common, name: 'unit', include, exclude: [...exclude, ...alone, ...memory], isolate: false } },
      { test: { ...common, name: 'alone', include: alone } },
      // Threads of V8 that sweep and compile hold hundreds of kilobytes of the heap for a moment, which is more than some tests measure.
      { test: { ...common, name: 'memory', include: memory, execArgv: ['--single-threaded'] } },
    ],
  },
});
