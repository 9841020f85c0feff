import type { Refusal } from '../publish/events/events.ts';
import type { Millis } from '../base/model/log-line.ts';
import type { Clock } from '../base/platform/clock.ts';
import { grantRightTo, isStrange } from './kubernetes/kubernetes.ts';
import type { Log, LogFields, RateLimitedLog } from './telemetry/logger.ts';
import type { Metrics } from './telemetry/metrics.ts';

export interface ApiAnswersOptions {
  log: Log;
  rateLimitedLog: RateLimitedLog;
  metrics: Metrics;
  clock: Pick<Clock, 'now' | 'wall'>;
  server: () => string;
  /** Returns whether Pods, Nodes and Services have been listed. Packets are not counted before that. */
  isListed: () => boolean;
}

/** `verb` is one of RBAC's. `subject` is the kind of object that is read (`pods`), the Events of a Namespace, or the Node's condition. */
export interface ApiAnswers {
  readonly shared: SharedProblems;
  refused: (verb: string, resource: string, refusal: Refusal, subject?: string) => void;
  denied: (verb: string, resource: string, answer: string, subject?: string) => void;
  granted: (verb: string, resource: string, subject?: string) => void;
  /** The right is granted, even if the request failed. `but`: a problem of the subject that continues, such as an Event denied by admission. */
  answered: (verb: string, resource: string, subject?: string, but?: Problem) => void;
}

/** How long a starting server may refuse requests that it grants later. */
const startingTime: Millis = 10_000;

export function createApiAnswers({ rateLimitedLog, metrics, clock, server, isListed }: ApiAnswersOptions): ApiAnswers {
  const { now } = clock;
  const { report, resolve } = rateLimitedLog;
  const shared = createSharedProblems(rateLimitedLog, now);
  /** Since when each right is missing, and for which subjects. Rights to Events may be granted for each Namespace. */
  const missing = new Map<string, { since: Millis; subjects: Set<string> }>();
  return {
    shared,
    refused: (verb: string, resource: string, refusal: Refusal, subject = resource): void => {
      const { status, message, retryAfter } = refusal;
      if (status === 403) return denied(verb, resource, message, subject);
      const refused = `The API server refuses to ${verb} ${resource} for now`;
      const until = retryAfter === undefined ? undefined : new Date(clock.wall() + retryAfter).toISOString();
      const about = { server: server(), asked: `${verb} ${subject}`, status, answer: message, until };
      if (status === 401) {
        const text = 'The API server does not accept our token (401): it is read again and tried again';
        return shared.report('token', subject, 'error', about, text);
      }
      // A server throttles while it starts, so after an outage this is still the same problem.
      if (status === 429 && !shared.affects('api server', subject))
        return shared.report('throttled', subject, 'warn', about, `${refused}: too many requests (429)`);
      if (status === 0) {
        const meanwhile = isListed()
          ? 'and counting meanwhile'
          : 'and keeping packets meanwhile. They are counted once it has listed Pods, Nodes and Services';
        const who = isStrange(refusal)
          ? 'Something else answers in place of the API server'
          : 'The API server does not answer';
        const text = `${who}: waiting for it, ${meanwhile}`;
        return shared.report('api server', subject, 'error', about, text);
      }
      if (status === 408 || status === 429 || status >= 500)
        return shared.report('api server', subject, 'error', about, `${refused}: it fails (${status})`);
      report('warn', `${resource} failing`, about, refused);
    },
    denied,
    granted,
    answered: (verb: string, resource: string, subject = resource, but?: Problem): void => {
      granted(verb, resource, subject);
      shared.well(subject, but);
      resolve(`${resource} failing`, `${resource} can be read again`);
    },
  };

  function granted(verb: string, resource: string, subject = resource): void {
    const right = `right ${verb} ${resource}`;
    const subjects = missing.get(right)?.subjects;
    subjects?.delete(subject);
    if (subjects !== undefined && subjects.size > 0) return;
    metrics.missingPermission.set(0, { verb, resource });
    missing.delete(right);
    resolve(right, `The right to ${verb} ${resource} is there now`);
  }

  function denied(verb: string, resource: string, answer: string, subject = resource): void {
    metrics.missingPermission.set(1, { verb, resource });
    const right = `right ${verb} ${resource}`;
    const { since, subjects } = missing.get(right) ?? { since: now(), subjects: new Set() };
    missing.set(right, { since, subjects: subjects.add(subject) });
    const starting = shared.affectsAny('api server') && now() - since < startingTime;
    shared.well(subject);
    // A starting server may not know any rights for a moment.
    if (starting) return;
    report(
      // Only explanations and the Node's condition need these rights.
      ['endpointslices', 'felixconfigurations', 'nodes/status'].includes(resource) ? 'warn' : 'error',
      right,
      { verb, resource, answer },
      `Missing right: ${verb} ${resource}; ${grantRightTo(resource)}`,
    );
  }
}

/** How long a problem must be absent to count as over, because a server that refuses now and then has one lasting problem. */
const quietFor: Millis = 20_000;

const endings = {
  'api server': 'The API server answers again',
  throttled: 'The API server throttles us no longer',
  token: 'The API server accepts our token again',
  silence: 'What is watched is heard of again',
  directory: 'The shared directory answers again',
  'event failed': 'The API server fails on Events no longer',
  'event denied by webhook': 'Events are written again that an admission webhook denied',
  'event denied by policy': 'Events are written again that a ValidatingAdmissionPolicy denied',
  'event denied by quota': 'Events are written again that a ResourceQuota had no room for',
  'event denied by admission': "Events are written again that the API server's admission denied",
} as const;

export type Problem = keyof typeof endings;

const problems = Object.keys(endings) as Problem[];

interface SharedProblems {
  report(problem: Problem, subject: string, level: 'error' | 'warn' | 'info', fields: LogFields, text: string): void;
  well(subject: string, but?: Problem): void;
  affects: (problem: Problem, subject: string) => boolean;
  /** Returns whether the problem was reported, and not yet as over. */
  wasReported: (problem: Problem) => boolean;
  affectsAny: (problem: Problem) => boolean;
  settle: () => void;
}

/** A problem of several subjects is logged when the first one has it, and as over when none has had it for a while. */
function createSharedProblems({ report, resolve }: RateLimitedLog, now: () => Millis): SharedProblems {
  const affected = new Map(problems.map((problem) => [problem, new Set<string>()]));
  const reported = new Map<Problem, Millis>();
  return {
    report(problem: Problem, subject: string, level: 'error' | 'warn' | 'info', fields: LogFields, text: string): void {
      affected.get(problem)?.add(subject);
      reported.set(problem, now());
      report(level, problem, fields, text);
    },
    well(subject: string, but?: Problem): void {
      for (const [problem, subjects] of affected) if (problem !== but) subjects.delete(subject);
    },
    affects: (problem: Problem, subject: string): boolean => affected.get(problem)?.has(subject) ?? false,
    wasReported: (problem: Problem): boolean => reported.has(problem),
    affectsAny: (problem: Problem): boolean => (affected.get(problem)?.size ?? 0) > 0,
    settle(this: void): void {
      for (const [problem, at] of reported) {
        if ((affected.get(problem)?.size ?? 0) > 0 || now() - at < quietFor) continue;
        reported.delete(problem);
        resolve(problem, endings[problem]);
      }
    },
  };
}
