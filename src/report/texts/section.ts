/** A list of a report, which the table, Markdown and the page print each in its way. */
import type { Bounded } from '../model.ts';
import { numberText } from './plain.ts';

/** A number is printed in its column, right-aligned. A string may be a stranger's: an output escapes it. */
export type Cell = string | number;

export interface Section {
  id: string;
  title: string;
  /** What the reader has to know of it; own words only. */
  lead?: string;
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
  /** What is left out. */
  more?: string | undefined;
  /** Instead of rows where there are none. */
  empty: string;
}

/** As many rows as a section may have; what is past them is counted. */
export type Cut = <T>(bounded: Bounded<T>) => Bounded<T>;

export function moreText(more: number, what: string): string | undefined {
  return more > 0 ? `${numberText(more)} more ${what}${more === 1 ? '' : 's'}` : undefined;
}
