/** A record as a container prints it, and what it says of an incident; undefined: nothing. */
export interface SignRow {
  name: string;
  text: string;
  sign: ExpectedSign | undefined;
}

/** A field that is not named is not compared. */
export type ExpectedSign =
  | {
      code: string;
      subject?: string | undefined;
      family?: string;
      failing?: string;
      backend?: 'legacy' | 'nf_tables' | undefined;
      quote?: string;
    }
  | { sync: 'sync-failed' | 'sync-complete'; retry?: number | undefined; family?: string };
