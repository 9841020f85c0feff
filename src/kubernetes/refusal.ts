import type { Refusal } from '../events/events.ts';
import type { Millis } from '../model/log-line.ts';
import { printable } from '../platform/printable.ts';
import { type HttpAnswer, textOf, TooLargeError } from './http.ts';
import { parsed } from '../platform/json.ts';

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
const longestMessage = 500;

interface Status {
  reason?: string;
  message?: unknown;
  details?: { causes?: { reason?: string }[] };
}

/** A body that says why a request was refused. Rejects where it is too large. */
export async function refusalIn(answer: HttpAnswer): Promise<Refusal> {
  const { status, headers } = answer;
  const text = await textOf(answer);
  const { reason = '', message, details } = (parsed(text) ?? {}) as Status;
  const terminating = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating');
  return {
    kind: 'refused',
    status,
    reason: terminating ? 'NamespaceTerminating' : reason,
    message:
      printable((typeof message === 'string' ? message : text).slice(0, longestMessage)) || `HTTP status ${status}`,
    retryAfter: retryAfterOf(headers['retry-after']),
  };
}

/** An error as an answer: of a `RefusedError` its own, else that there was none. */
export function refusalOfError(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal;
  const reason = error instanceof TooLargeError ? tooLarge : '';
  return { kind: 'refused', status: 0, reason, message: messageOf(error), retryAfter: undefined };
}

/** Seconds, as the API server sends it; at most ten minutes, whoever asks. */
function retryAfterOf(header: string | undefined): Millis | undefined {
  const seconds = Number(header ?? NaN);
  return seconds >= 0 ? Math.min(seconds, 600) * 1000 : undefined;
}

/** What was aborted says why in its cause; a host with several addresses has an error for each. */
function messageOf(error: unknown): string {
  const first: unknown =
    error instanceof AggregateError ? error.errors[0] : ((error as { cause?: unknown }).cause ?? error);
  return printable((first instanceof Error ? first.message : String(first)).slice(0, longestMessage));
}
