/** A condition of a rule in the words of an Event: `Pods app=web in shop`, and `is app=worker in batch` about an end that does not meet it. */
export interface ClauseWords {
  readonly allows: string;
  readonly is: string;
}
