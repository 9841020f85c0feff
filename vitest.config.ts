import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Those need a control plane, and have a configuration of their own.
    exclude: ['test/e2e/**'],
    globalSetup: 'test/programs/unit-setup.ts',
    setupFiles: ['test/fast-check.ts'],
    // By default one core is left idle, which is half of a small machine.
    maxWorkers: '100%',
    // Only what hangs; a loaded machine is slow, and `npm run fuzz` generates more.
    testTimeout: process.env['FUZZ'] === undefined ? 120_000 : 600_000,
    hookTimeout: 120_000,
  },
});
