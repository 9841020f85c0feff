/** What policies are evaluated against. Plain data. */

export type Labels = Readonly<Record<string, string>>;
