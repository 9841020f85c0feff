import { createChance } from './words.ts';

/**
 * Plans rounds, each with attacks that are played at the same time and a seed of its own; with random groups the plan
 * is endless.
 */
export function* planRounds(
  names: readonly string[],
  together: number,
  seed: number,
  goesOn: boolean,
): Generator<{ readonly attacks: readonly string[]; readonly seed: number }> {
  const chance = createChance(seed);
  const shuffle = (): string[] =>
    names
      .map((name) => [chance.number(1e9), name] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, name]) => name);
  const all = shuffle();
  for (let first = 0; first < all.length; first += together)
    yield { attacks: all.slice(first, first + together), seed: seed + first };
  if (!goesOn) return;
  for (let number = all.length; ; number++)
    yield { attacks: shuffle().slice(0, 2 + chance.number(5)), seed: seed + number };
}
