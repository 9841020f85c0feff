/**
 * Changes one operator, condition or literal of a folder of src at a time, and says which changes its unit tests do not notice:
 *
 *   npm run mutants -- FOLDER                         all mutants of src/FOLDER
 *   npm run mutants -- FOLDER --sample 40 --seed 1    forty of them, the same ones for the same seed
 *   npm run mutants -- publish/state/segments.ts      one file
 *
 * With --threshold PERCENT, a lower score is a failure. --concurrency N uses N processes (default: 2).
 */
import { randomInt } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { type Mutant, sampleOf, variable } from './sample.ts';

const root = join(import.meta.dirname, '../..');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    threshold: { type: 'string', default: '0' },
    concurrency: { type: 'string', default: '2' },
  },
});
const [place = ''] = positionals;
const [sample, seed, threshold, concurrency] = [
  values.sample ?? Infinity,
  values.seed,
  values.threshold,
  values.concurrency,
].map(Number) as [number, number, number, number];
const found = statSync(join(root, 'src', place), { throwIfNoEntry: false });
if (
  place === '' ||
  positionals.length > 1 ||
  found === undefined ||
  [sample, seed, threshold, concurrency].some(Number.isNaN)
) {
  process.stderr.write(
    'usage: npm run mutants -- FOLDER [--sample N] [--seed N] [--threshold PERCENT] [--concurrency N]\n',
  );
  process.exit(2);
}

process.chdir(root);
const pattern = found.isDirectory() ? `src/${place}/**/*.ts` : `src/${place}`;
process.env['MUTANTS_FOLDER'] = place.split('/').slice(0, 2).join('/');
process.env[variable] = JSON.stringify({ size: sample, seed });
// A property that notices nothing ends after this time. On a busy machine, less would not be enough for all outcomes.
process.env['FUZZ_LIMIT_MS'] ??= '4000';

const mutants = await new Stryker({
  mutate: Number.isFinite(sample) ? await placesOfSample() : [pattern],
  plugins: ['@stryker-mutator/vitest-runner', join(import.meta.dirname, 'sample.ts')],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutants/vitest.config.ts' },
  checkers: Number.isFinite(sample) ? ['sample'] : [],
  concurrency,
  reporters: ['progress-append-only'],
  // Stryker reads a tsconfig with a part of the compiler that TypeScript 7 does not have.
  tsconfigFile: 'none',
  tempDirName: 'artifacts/mutants',
  ignorePatterns: ['/artifacts', '/coverage', '/dist', '/.bench'],
  // Long, because a busy machine is not an endless loop.
  dryRunTimeoutMinutes: 30,
  timeoutFactor: 4,
  timeoutMS: 30_000,
}).runMutationTest();

/** RuntimeError: the mutant keeps a file of tests from loading, or throws outside a test. Both fail the run. */
const noticed: ReadonlySet<Mutant['status']> = new Set(['Killed', 'Timeout', 'RuntimeError']);

report(mutants.filter(({ status }) => status !== 'CompileError'));

/** Only these places are instrumented, because tests of a folder with thousands of mutants take ten times as long. */
async function placesOfSample(): Promise<string[]> {
  const files = globSync(pattern).map((name) => ({
    name: join(root, name),
    mutate: true,
    content: readFileSync(name, 'utf8'),
  }));
  const silent = { isDebugEnabled: () => false, debug: () => {}, info: () => {}, warn: () => {} };
  const instrumenter = new Instrumenter(silent as unknown as ConstructorParameters<typeof Instrumenter>[0]);
  const all = await instrumenter.instrument(files, { ignorers: [], plugins: null, excludedMutations: [] });
  return [...sampleOf(all.mutants, { size: sample, seed })].map(({ fileName, location: { start, end } }) => {
    const range = `${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`;
    return `${relative(root, fileName)}:${range}`;
  });
}

function report(tested: readonly Mutant[]): void {
  const unnoticed = tested.filter(({ status }) => !noticed.has(status));
  for (const mutant of unnoticed.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)))
    process.stdout.write(`${mutant.status} ${placeOf(mutant)} ${mutant.mutatorName}: ${changeOf(mutant)}\n`);
  const killed = tested.length - unnoticed.length;
  const score = (100 * killed) / tested.length;
  const how = Number.isFinite(sample) ? `a sample of ${sample}, seed ${seed}` : 'all';
  process.stdout.write(`mutants: src/${place}, ${how}: ${killed} of ${tested.length} killed, ${score.toFixed(1)} %\n`);
  process.exitCode = score >= threshold ? 0 : 1;
}

function placeOf({ fileName, location }: Mutant): string {
  return `${relative(root, fileName)}:${location.start.line}:${location.start.column}`;
}

function changeOf({ fileName, location: { start, end }, replacement }: Mutant): string {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  lines.push((lines.pop() ?? '').slice(0, end.column - 1));
  const [first = '', ...rest] = lines;
  const original = [first.slice(start.column - 1), ...rest].join('\n');
  return `${shortened(original)} → ${shortened(replacement)}`;
}

function shortened(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
