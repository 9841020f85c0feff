import { type Denier, denierOf } from '../events/denial.ts';
import type { Refusal } from '../events/event-store.ts';
import type { Series, WriteResult } from '../model/series.ts';
import type { Log } from '../telemetry/logger.ts';
import type { RateLimitedLog } from '../telemetry/rate-limited-log.ts';
import type { ApiAnswers } from './api-answers.ts';

/** Before `an Event`. */
const deniers: Readonly<Record<Denier, string>> = {
  webhook: 'An admission webhook denies',
  policy: 'A ValidatingAdmissionPolicy denies',
  quota: 'A ResourceQuota has no room for',
  admission: "The API server's admission denies",
};

/** RBAC's words for what is done with Events. */
const eventVerbs = { create: 'create', update: 'patch', read: 'get' } as const;

/** Reports how the write of an Event ended. */
export function createWriteReport(log: Log, { report }: RateLimitedLog, answers: ApiAnswers) {
  return (verb: keyof typeof eventVerbs, result: WriteResult, series: Series, refusal: Refusal | undefined): void => {
    const { kind, namespace = '', name } = series.finding.regarding;
    const about = { object: `${kind} ${namespace}/${name}`, answer: refusal?.message };
    switch (result) {
      case 'ok':
        log.debug({ ...about, verb }, 'Event written');
        answers.granted(eventVerbs[verb], 'events');
        return answers.reached();
      case 'forbidden':
        return answers.denied(eventVerbs[verb], 'events', refusal?.message ?? '');
      case 'denied': {
        // Admission comes after the token and the rights.
        answers.granted(eventVerbs[verb], 'events');
        answers.reached();
        const denier = denierOf(refusal as Refusal) ?? 'admission';
        const text = `${deniers[denier]} an Event; it is tried again every ten minutes, and counted on meanwhile`;
        return report('error', `event denied by ${denier}`, about, text);
      }
      case 'throttled':
      case 'unauthorized':
      case 'unavailable':
        return answers.refused(eventVerbs[verb], 'events', refusal as Refusal);
      case 'failed': {
        const text = 'The API server failed on an Event; it is tried again every minute';
        return report('warn', 'event failed', about, text);
      }
      case 'invalid':
      case 'foreign':
        return report('error', `event ${result}`, about, 'The API server refuses an Event for good; it is given up');
      case 'terminating':
      case 'gone':
      case 'conflict':
        return;
      default:
        result satisfies never;
    }
  };
}
