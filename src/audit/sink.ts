/** Where rows go. */
export interface Sink {
  readonly name: string;
  /** Rows of one batch at most. */
  readonly most: number;
  /** Resolves when the receiver has the rows for good, to how many of them it refused. Rejects when they must be sent again. */
  send: (rows: readonly string[], signal: AbortSignal) => Promise<number>;
  close: () => Promise<void>;
}
