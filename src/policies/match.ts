/** Three-valued logic: what is not known decides nothing that the rest decides. */
import type { Match } from './model.ts';

/** False where one is false, else the first missing fact, else true. */
export function both(first: Match, second: () => Match): Match {
  if (first === false) return false;
  const other = second();
  if (other === false) return false;
  return first === true ? other : first;
}
