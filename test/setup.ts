import fc from 'fast-check';
import { afterAll, vi } from 'vitest';

const { FUZZ_SEED: seed, FUZZ_LIMIT_MS: limit } = process.env;

/**
 * Generated tests use the same programs in every run, so that a red run is never a matter of luck. `npm run fuzz`
 * (fuzz.ts) uses another seed, `.ci/run` that of the commit; each finding becomes a row in a table.
 */
fc.configureGlobal({
  seed: Number(seed ?? 20_261_121),
  ...(limit === undefined ? {} : { interruptAfterTimeLimit: Number(limit) }),
});

// The next file runs in the same process.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
