import { type Attempt, type Denier, denierOf, type Refusal } from '../events/events.ts';
import type { Log } from '../telemetry/logger.ts';
import type { RateLimitedLog } from '../telemetry/rate-limited-log.ts';
import type { ApiAnswers } from './api-answers.ts';

/** Before `an Event`. */
const deniers: Readonly<Record<`event denied by ${Denier}`, string>> = {
  'event denied by webhook': 'An admission webhook denies',
  'event denied by policy': 'A ValidatingAdmissionPolicy denies',
  'event denied by quota': 'A ResourceQuota has no room for',
  'event denied by admission': "The API server's admission denies",
};

/** RBAC's words for what is done with Events. */
const eventVerbs = { create: 'create', update: 'patch', read: 'get' } as const;

/** Reports how the write of an Event ended. */
export function createWriteReport(log: Log, { report }: RateLimitedLog, answers: ApiAnswers) {
  const { shared } = answers;
  return ({ verb, result, series, refusal }: Attempt): void => {
    const { kind, namespace = '', name } = series.finding.regarding;
    const about = { object: `${kind} ${namespace}/${name}`, answer: refusal?.message };
    const right = eventVerbs[verb];
    // These two may concern one namespace alone: it is throttled (429), or its webhook fails.
    const subject = `events of ${namespace}`;
    switch (result) {
      case 'ok':
        log.debug({ ...about, verb }, 'Event written');
        return answers.answered(right, 'events', subject);
      case 'forbidden':
        return answers.denied(right, 'events', refusal?.message ?? '', subject);
      case 'denied': {
        // Admission comes after the token and the rights.
        const problem = `event denied by ${denierOf(refusal as Refusal) ?? 'admission'}` as const;
        answers.answered(right, 'events', subject, problem);
        const text = `${deniers[problem]} an Event; it is tried again every ten minutes, and counted on meanwhile`;
        return shared.report(problem, subject, 'error', about, text);
      }
      case 'failed': {
        // Admission or a webhook failed on this Event. Failures of the server itself, such as a missing etcd, have no reason.
        if (refusal?.reason !== 'InternalError') return answers.refused(right, 'events', refusal as Refusal, subject);
        const text = 'The API server failed on an Event; it is tried again every minute';
        return shared.report('event failed', subject, 'warn', about, text);
      }
      case 'throttled':
      case 'unauthorized':
      case 'unavailable':
        return answers.refused(right, 'events', refusal as Refusal, subject);
      case 'invalid':
      case 'foreign':
        report('error', `event ${result}`, about, 'The API server refuses an Event for good; it is given up');
        return answers.answered(right, 'events', subject);
      case 'terminating':
      case 'gone':
      case 'conflict':
        return answers.answered(right, 'events', subject);
      default:
        result satisfies never;
    }
  };
}
