import type { Millis } from '../model/log-line.ts';
import { isSummary } from '../model/finding.ts';
import type { Series, Turn, WriteResult } from '../model/series.ts';
import { createCooldown } from '../platform/cooldown.ts';
import { denierOf } from './denial.ts';
import { namespaceOf } from './event.ts';
import type { Refusal } from './event-store.ts';
import type { Outcome } from './event-writer.ts';
import type { Publishable } from './recorder.ts';

/** What publishing to an API server, which may refuse it, needs of a table of series. */
export interface PublisherTable extends Publishable {
  /** Whose turn it is. */
  next: (now: Millis) => Turn | undefined;
  /** It is being written: others have their turn. */
  take: (series: Series) => void;
  /** It was taken, and not written for a reason that is not its own. */
  putBack: (series: Series, now: Millis) => void;
  delay: (series: Series, at: Millis) => void;
  retry: (series: Series, at: Millis) => void;
  abandon: (series: Series) => void;
}

export interface AttemptsOptions {
  table: PublisherTable;
  /** Writes a series as it is at the call. */
  write: (series: Series) => Promise<Outcome>;
  onResult: (verb: Verb, result: WriteResult, series: Series, refusal: Refusal | undefined) => void;
  onWritten: (packets: number) => void;
  /** Nothing more is tried for a series. `muted`: its namespace was being deleted a moment ago. */
  onAbandoned: (reason: WriteResult | 'muted') => void;
  /** The API server does not accept our token: load it again. */
  onUnauthorized: () => void;
  now: () => Millis;
}

type Verb = 'create' | 'update' | 'read';

/** Cooldown of a namespace that is being deleted. */
const mutedFor: Millis = 600_000;
/** Cooldown of an Event that was refused for good: each packet that comes would have it refused again. */
const givenUpFor: Millis = 600_000;

/** How long until one Event is tried again, while others are written. */
const retryDelays: Partial<Record<WriteResult, Millis>> = {
  conflict: 1000,
  /** Until then the missing right may have been granted. */
  forbidden: 30_000,
  /** The server fails (500): an admission webhook, mostly. */
  failed: 60_000,
  /** A quota, a webhook or a policy: shorter, and one namespace's problems would take the budget of the node from the others. */
  denied: 600_000,
};

/** Attempts to write series, and what follows from how they end. */
export function createAttempts({ table, now, ...options }: AttemptsOptions) {
  const mutedNamespaces = createCooldown<string>(mutedFor, now);
  const givenUp = createCooldown<Series>(givenUpFor, now);

  return {
    /** Writes a series once, as it was when it was `taken`. Gives the refusal if others would be refused, too. Never rejects. */
    async write(series: Series, taken: Series): Promise<'done' | Refusal> {
      const outcome = await options.write(taken).catch(failedByItself);
      if (outcome.kind === 'written') {
        table.published(series, outcome.published);
        if (!isSummary(series.finding)) options.onWritten(outcome.packets);
        options.onResult(outcome.verb, 'ok', series, undefined);
        return 'done';
      }
      const { verb, refusal } = outcome.kind === 'refused' ? outcome : ({ verb: 'read', refusal: undefined } as const);
      const result = refusal === undefined ? 'foreign' : resultOf(refusal, verb);
      options.onResult(verb, result, series, refusal);
      if (result === 'unauthorized') options.onUnauthorized();
      if (refusal !== undefined && isOfAll(result)) return refusal;
      const delay = retryDelays[result];
      if (delay !== undefined) table.retry(series, now() + delay);
      else abandon(series, result);
      return 'done';
    },
    /** Whether an attempt would be in vain; `muted`: for a reason that was not yet given for this series. */
    isVain(series: Series): false | 'given up' | 'muted' {
      if (givenUp.has(series)) return 'given up';
      return mutedNamespaces.has(namespaceOf(series.finding.regarding)) && 'muted';
    },
  };

  function abandon(series: Series, result: WriteResult): void {
    if (result === 'terminating' || result === 'gone') mutedNamespaces.add(namespaceOf(series.finding.regarding));
    else givenUp.add(series);
    table.abandon(series);
    options.onAbandoned(result);
  }
}

/** Whether any other write would be refused, too. */
function isOfAll(result: WriteResult): boolean {
  return result === 'unauthorized' || result === 'throttled' || result === 'unavailable';
}

/** A fault of this program must cost one Event for a while, not all of them for good. */
function failedByItself(error: unknown): Outcome {
  const answer = { status: 500, reason: 'InternalError', message: String(error), retryAfter: undefined } as const;
  return { kind: 'refused', verb: 'create', refusal: { kind: 'refused', ...answer } };
}

function resultOf(refusal: Refusal, verb: Verb): WriteResult {
  const { status, reason } = refusal;
  if (denierOf(refusal) !== undefined) return 'denied';
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'throttled';
  if (status === 500) return 'failed';
  if (status === 0 || status === 408 || status >= 500) return 'unavailable';
  if (status === 403) return reason === 'NamespaceTerminating' ? 'terminating' : 'forbidden';
  if (status === 404) return verb === 'create' ? 'gone' : 'conflict';
  return status === 409 ? 'conflict' : 'invalid';
}
