import { globSync } from 'node:fs';
import { rowsIn } from '../../../corpus/lines.ts';

/**
 * A record as a container prints it. `sign`: the code of the cause of which the record is a sign, `sync` if it says how
 * an attempt ended, or undefined.
 */
interface SignRow {
  name: string;
  text: string;
  sign: string | undefined;
}

/** Each row of the files is named `SIGN: NAME`, or `nothing: NAME`. */
export const lines: readonly SignRow[] = globSync(`${import.meta.dirname}/*.log`)
  .toSorted()
  .flatMap((file) => rowsIn(file))
  .map(({ id, text }) => ({ name: id, text, sign: id.startsWith('nothing: ') ? undefined : id.split(':')[0] }));
