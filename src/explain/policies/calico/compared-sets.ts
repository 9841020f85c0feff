/** Compares the network sets of an address with selectors. A tenant may have tens of sets and a hundred thousand comparisons in selectors. */
import type { LabelledEndpoint } from '../clauses/labels.ts';
import { anyOf, type MatchResult, Unknown } from '../model.ts';
import { type Selector, matchesSelector, sizeOf } from './selector.ts';

export interface ComparedSets {
  readonly first: LabelledEndpoint | undefined;
  /** Returns whether the selector selects one of the sets; unknown if that exceeds the rest of `mostComparisons`. */
  readonly match: (selector: Selector) => MatchResult;
}

/** For one end of one connection: about twenty milliseconds. */
const mostComparisons = 200_000;

/** `where`: how messages name the end. */
export function comparedSets(sets: readonly LabelledEndpoint[], where: string): ComparedSets {
  /** Each selector is asked for several times: for the verdict, the nearest rule and its text. */
  const known = new Map<Selector, MatchResult>();
  let left = mostComparisons;
  return {
    first: sets[0],
    match(selector) {
      if (sets.length === 0) return false;
      const match = known.get(selector) ?? compare(selector);
      known.set(selector, match);
      return match;
    },
  };

  function compare(selector: Selector): MatchResult {
    const comparisons = sets.length * sizeOf(selector);
    if (comparisons > left)
      return new Unknown(`which NetworkSets of ${where} the selectors select: there are too many of both`);
    left -= comparisons;
    return anyOf(sets, ({ labelOf }) => matchesSelector(selector, labelOf));
  }
}
