import { hash } from 'node:crypto';
import type { Stryker } from '@stryker-mutator/core';

export type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

type Place = Pick<Mutant, 'fileName' | 'location' | 'replacement'>;

/** The run passes the size and the seed of a sample to Stryker's processes in this variable. */
export const variable = 'MUTANTS_SAMPLE';

/** Chooses the same mutants for the same seed, in whatever order they come and whatever else is mutated. */
export function sampleOf<T extends Place>(
  mutants: readonly T[],
  { size, seed }: { size: number; seed: number },
): Set<T> {
  const byChance = mutants.map((mutant) => {
    const { fileName, location, replacement } = mutant;
    const file = fileName.slice(fileName.lastIndexOf('/src/'));
    return { mutant, rank: hash('sha256', JSON.stringify([seed, file, location, replacement])) };
  });
  const sorted = byChance.toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  return new Set(sorted.slice(0, size).map(({ mutant }) => mutant));
}

/** Stryker has no samples, but it leaves out mutants that a checker rejects. */
const checker = {
  init: () => Promise.resolve(),
  // One group, because a sample is chosen among all.
  group: (mutants: readonly Mutant[]) => Promise.resolve([mutants.map(({ id }) => id)]),
  check: (mutants: readonly Mutant[]) => {
    const chosen = sampleOf(mutants, JSON.parse(process.env[variable] ?? '{}') as { size: number; seed: number });
    const statusOf = (mutant: Mutant) => (chosen.has(mutant) ? 'passed' : 'compileError');
    return Promise.resolve(
      Object.fromEntries(
        mutants.map((mutant) => [mutant.id, { status: statusOf(mutant), reason: 'not in the sample' }]),
      ),
    );
  },
};

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', value: checker }];
