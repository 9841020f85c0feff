import type { Refusal } from '../events/events.ts';
import { printable } from '../platform/printable.ts';

/** A request that was refused, where its answer is no value. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Reason of a refusal: the API server answers, with more than is read. No Status object has it. */
const tooLarge = 'AnswerTooLarge';

export function isTooLarge({ status, reason }: Refusal): boolean {
  return status === 0 && reason === tooLarge;
}

/** Characters: whoever denies a request, or stands in between, may write any text. */
export const longestMessage = 500;

export class TooLargeError extends Error {
  override name = 'TooLargeError';
}

/** An error as an answer: of a `RefusedError` its own, else that there was none. */
export function refusalOfError(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal;
  const reason = error instanceof TooLargeError ? tooLarge : '';
  return { kind: 'refused', status: 0, reason, message: messageOf(error), retryAfter: undefined };
}

/** An aborted request says why in its cause; a host with several addresses has an error for each. */
function messageOf(error: unknown): string {
  const first: unknown =
    error instanceof AggregateError ? error.errors[0] : ((error as { cause?: unknown }).cause ?? error);
  return printable((first instanceof Error ? first.message : String(first)).slice(0, longestMessage));
}
