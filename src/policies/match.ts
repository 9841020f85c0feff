/** Three-valued logic: what is not known decides nothing that the rest decides. */
import type { Match } from './model.ts';

/** False where one is false, else the first missing fact, else true. */
export function both(first: Match, second: () => Match): Match {
  if (first === false) return false;
  const other = second();
  if (other === false) return false;
  return first === true ? other : first;
}

/** False where one is false, else the last missing fact, else true. */
export function allOf<T>(items: readonly T[], matches: (item: T) => Match): Match {
  return decidedBy(false, items, matches);
}

/** True where one is true, else the last missing fact, else false. */
export function anyOf<T>(items: readonly T[], matches: (item: T) => Match): Match {
  return decidedBy(true, items, matches);
}

function decidedBy<T>(decides: boolean, items: readonly T[], matches: (item: T) => Match): Match {
  let unknown: string | undefined;
  for (const item of items) {
    const match = matches(item);
    if (match === decides) return decides;
    if (typeof match === 'string') unknown = match;
  }
  return unknown ?? !decides;
}

export function not(match: Match): Match {
  return typeof match === 'string' ? match : !match;
}
