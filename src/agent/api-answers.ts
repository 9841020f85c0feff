import type { Refusal } from '../events/event-store.ts';
import { grantRights } from '../kubernetes/rights-file.ts';
import type { Log } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RateLimitedLog } from '../telemetry/rate-limited-log.ts';

export interface ApiAnswersOptions {
  log: Log;
  rateLimitedLog: RateLimitedLog;
  metrics: Metrics;
  /** URL of the API server, for texts. */
  server: () => string;
}

/** What the API server's answers say of rights, of the token and of the server itself. `verb` is one of RBAC. */
export type ApiAnswers = ReturnType<typeof createApiAnswers>;

export function createApiAnswers({ rateLimitedLog: { report, resolve }, metrics, server }: ApiAnswersOptions) {
  return {
    refused: (verb: string, resource: string, refusal: Refusal): void => {
      const { status, message } = refusal;
      if (status === 403) return denied(verb, resource, message);
      if (status === 401)
        return report(
          'error',
          'token',
          { server: server(), answer: message },
          'The API server does not accept our token (401): it is read again and tried again',
        );
      if (status === 0)
        return report(
          'error',
          'unreachable',
          { server: server(), reason: message },
          'The API server cannot be reached: waiting for it, and counting meanwhile',
        );
      const text = `The API server refuses to ${verb} ${resource} for now`;
      report('warn', `${resource} failing`, { status, answer: message }, text);
    },
    denied,
    granted: (verb: string, resource: string): void => {
      metrics.missingPermission.set(0, { verb, resource });
      resolve(`right ${verb} ${resource}`, `The right to ${verb} ${resource} is there now`);
    },
    /** The server has answered, and accepted our token. */
    reached: (): void => {
      resolve('unreachable', 'The API server answers again');
      resolve('token', 'The API server accepts our token again');
    },
  };

  /** The right is missing, whatever answered so. */
  function denied(verb: string, resource: string, answer: string): void {
    metrics.missingPermission.set(1, { verb, resource });
    report(
      // Without these, less is explained: all else goes on.
      resource === 'endpointslices' || resource === 'felixconfigurations' ? 'warn' : 'error',
      `right ${verb} ${resource}`,
      { verb, resource, answer },
      `Missing right: ${verb} ${resource}; ${grantRights}`,
    );
  }
}
