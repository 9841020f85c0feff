import { grantRights } from '../kubernetes/rights-file.ts';
import type { Refusal } from '../events/event-store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RateLimitedLog } from '../telemetry/rate-limited-log.ts';

/** What the API server's answers say of rights, of the token and of the server itself. */
export interface Answers {
  /** By `verb` of RBAC. */
  refused: (verb: string, resource: string, refusal: Refusal) => void;
  /** The right is missing, whoever said so. */
  denied: (verb: string, resource: string, refusal: Pick<Refusal, 'message'>) => void;
  granted: (verb: string, resource: string) => void;
  /** It has answered, and accepted our token. */
  reached: () => void;
}

export interface AnswersOptions {
  rateLimitedLog: RateLimitedLog;
  metrics: Metrics;
  /** URL of the API server, for texts. */
  server: () => string;
}

export function createAnswers({ rateLimitedLog: { complain, settled }, metrics, server }: AnswersOptions): Answers {
  return { refused, denied, granted, reached };

  function refused(verb: string, resource: string, refusal: Refusal): void {
    const { status, message } = refusal;
    if (status === 403) return denied(verb, resource, refusal);
    if (status === 401)
      return complain(
        'error',
        'token',
        { server: server(), answer: message },
        'The API server does not accept our token (401): it is read anew and tried again',
      );
    if (status === 0)
      return complain(
        'error',
        'unreachable',
        { server: server(), reason: message },
        'The API server cannot be reached: waiting for it, and counting meanwhile',
      );
    complain(
      'warn',
      `${resource} failing`,
      { status, answer: message },
      `The API server refuses to ${verb} ${resource} for now`,
    );
  }

  function denied(verb: string, resource: string, { message }: Pick<Refusal, 'message'>): void {
    metrics.missingPermission.set(1, { verb, resource });
    complain(
      // Without these, less is explained: all else goes on.
      resource === 'endpointslices' || resource === 'felixconfigurations' ? 'warn' : 'error',
      `right ${verb} ${resource}`,
      { verb, resource, answer: message },
      `Missing right: ${verb} ${resource}; ${grantRights}`,
    );
  }

  function granted(verb: string, resource: string): void {
    metrics.missingPermission.set(0, { verb, resource });
    settled(`right ${verb} ${resource}`, `The right to ${verb} ${resource} is there now`);
  }

  function reached(): void {
    settled('unreachable', 'The API server answers again');
    settled('token', 'The API server accepts our token again');
  }
}
