/**
 * Runs the generated tests with programs that no run has seen before:
 *
 *   npm run fuzz                      all runs of each property
 *   npm run fuzz -- --short           at most half a second for each property, about a minute in all
 *   npm run fuzz -- --seed 4711       the programs of an earlier run
 *
 * Other arguments go to vitest.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const SHORT_LIMIT_MS = 500;

const args = process.argv.slice(2);
const isShort = args.includes('--short');
const seedAt = args.indexOf('--seed');
const seed = seedAt === -1 ? randomInt(2 ** 31) : Number(args[seedAt + 1]);
if (!Number.isSafeInteger(seed)) {
  process.stderr.write('fuzz: --seed takes a whole number\n');
  process.exit(2);
}
const forVitest = args.filter(
  (arg, index) => arg !== '--short' && (seedAt === -1 || ![seedAt, seedAt + 1].includes(index)),
);

const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/e2e/**'] }).filter((path) =>
  /from '(?:fast-check|[./]*\/runs\.ts)'/.test(readFileSync(join(root, path), 'utf8')),
);
const again = `npm run fuzz -- --seed ${seed}`;
process.stdout.write(`fuzz: ${files.length} files, seed ${seed}; the same programs again: ${again}\n`);
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...files, ...forVitest],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_SEED: String(seed),
      // Some tests generate more when FUZZ is set.
      ...(isShort ? { FUZZ_LIMIT_MS: String(SHORT_LIMIT_MS) } : { FUZZ: '1' }),
    },
  },
);
if (status !== 0) process.stdout.write(`fuzz: failed with seed ${seed}; the same programs again: ${again}\n`);
process.exit(status ?? 1);
