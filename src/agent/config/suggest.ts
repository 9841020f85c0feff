const longest = 64;

/** Returns `; did you mean stateDir?` for the nearest candidate, or ''. Only letters and digits count: `state-dir` equals `stateDir`. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `; did you mean ${found}?`;
}

/** Returns the nearest candidate if at most one letter, or a third, is wrong. A missing or extra ending counts as one: `drop`, `warning`. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const letters = lettersOf(word);
  if (letters === '' || letters.length > longest) return undefined;
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: farness(letters, lettersOf(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(lettersOf(candidate).length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/** Returns whether the word has at most one wrong letter. Separators do not count: `MAX_NODE` and `MAXNODES` are slips for `MAX_NODES`. */
export function isSlip(word: string, candidate: string): boolean {
  const [letters, meant] = [lettersOf(word), lettersOf(candidate)];
  return Math.abs(letters.length - meant.length) <= 1 && distanceOf(letters, meant) <= 1;
}

function farness(a: string, b: string): number {
  const isCut = Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
  return isCut && a !== b ? 1 : distanceOf(a, b);
}

function lettersOf(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Counts how many letters must be removed, inserted, changed, or swapped with the next (optimal string alignment). */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? Infinity) + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
