/** A record as a container prints it, and what it says of an incident; undefined: nothing. */
export interface SignRow {
  name: string;
  text: string;
  sign: ExpectedSign | undefined;
}

/** A field that is not named is not compared. */
export type ExpectedSign = ({ code: string } & Details) | Sync;

interface Details {
  subject?: string | undefined;
  family?: string;
  failing?: string;
  backend?: 'legacy' | 'nf_tables' | undefined;
  quote?: string;
}

interface Sync {
  sync: 'sync-failed' | 'sync-complete';
  retry?: number | undefined;
  family?: string;
}

/** Records by name, each with what it says beside the code of its group. */
type Group<Sign> = Readonly<Record<string, string | readonly [text: string, sign: Sign]>>;

/** The rows of all groups: those by code, and `syncs`, which say how an attempt ended. */
export function signRows(groups: Record<`KN${number}`, Group<Details>> & { syncs?: Group<Sync> }): SignRow[] {
  return Object.entries(groups).flatMap(([code, group]) =>
    Object.entries(group).map(([name, row]) => {
      const [text, sign] = typeof row === 'string' ? [row, {}] : row;
      return { name, text, sign: 'sync' in sign ? sign : { code, ...sign } };
    }),
  );
}
