import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Else one appears beside this file.
  cacheDir: join(import.meta.dirname, '../../node_modules/.vite'),
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    globalSetup: './global-setup.ts',
    // They share one API server and two cores.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
