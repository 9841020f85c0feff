import type { Refusal } from '../events/events.ts';
import type { Millis } from '../model/log-line.ts';
import type { Clock } from '../platform/clock.ts';
import { grantRightTo } from '../kubernetes/kubernetes.ts';
import type { Fields, Log, RateLimitedLog } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface ApiAnswersOptions {
  log: Log;
  rateLimitedLog: RateLimitedLog;
  metrics: Metrics;
  clock: Pick<Clock, 'now' | 'wall'>;
  server: () => string;
  /** Whether Pods, Nodes and Services have been listed: packets are not counted before. */
  isListed: () => boolean;
}

/**
 * Learns from answers about rights, the token and the API server itself. `verb` is one of RBAC, `subject` what is read (`pods`), or Events
 * and their namespace.
 */
export type ApiAnswers = ReturnType<typeof createApiAnswers>;

/** A starting server may refuse for so long what it grants later. */
const startingTime: Millis = 10_000;

export function createApiAnswers({ rateLimitedLog, metrics, clock, server, isListed }: ApiAnswersOptions) {
  const { now } = clock;
  const { report, resolve } = rateLimitedLog;
  const shared = createSharedProblems(rateLimitedLog, now);
  /** Since when each right is missing, and for which subjects: rights to Events may be granted by namespace. */
  const missing = new Map<string, { since: Millis; subjects: Set<string> }>();
  return {
    shared,
    refused: (verb: string, resource: string, refusal: Refusal, subject = resource): void => {
      const { status, message } = refusal;
      if (status === 403) return denied(verb, resource, message, subject);
      const refused = `The API server refuses to ${verb} ${resource} for now`;
      const about = { server: server(), asked: `${verb} ${subject}`, status, answer: message };
      if (status === 401) {
        const text = 'The API server does not accept our token (401): it is read again and tried again';
        return shared.report('token', subject, 'error', about, text);
      }
      // A server that was away throttles while it starts, which is the same problem.
      if (status === 429 && !shared.has('api server', subject))
        return shared.report('throttled', subject, 'warn', about, `${refused}: too many requests (429)`);
      if (status === 0) {
        const meanwhile = isListed()
          ? 'and counting meanwhile'
          : 'and keeping packets meanwhile. They are counted once it has listed Pods, Nodes and Services';
        const text = `The API server does not answer: waiting for it, ${meanwhile}`;
        return shared.report('api server', subject, 'error', about, text);
      }
      if (status === 408 || status === 429 || status >= 500)
        return shared.report('api server', subject, 'error', about, `${refused}: it fails (${status})`);
      report('warn', `${resource} failing`, about, refused);
    },
    denied,
    granted,
    /** The server has done what was asked; `but` is still a problem. */
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
    const starting = shared.isThere('api server') && now() - since < startingTime;
    shared.well(subject);
    // A starting server knows no rights for a moment.
    if (starting) return;
    report(
      // Only explanations need these.
      ['endpointslices', 'felixconfigurations', 'nodes/status'].includes(resource) ? 'warn' : 'error',
      right,
      { verb, resource, answer },
      `Missing right: ${verb} ${resource}; ${grantRightTo(resource)}`,
    );
  }
}

/** A server that refuses now and then has one problem all the time. */
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

/**
 * Problems of several subjects: logged when the first has one, and as over when none had it for a while. `subject`: a kind of object that is
 * read (`pods`), Events and their namespace, or the shared directory.
 */
function createSharedProblems({ report, resolve }: RateLimitedLog, now: () => Millis) {
  const affected = new Map(problems.map((problem) => [problem, new Set<string>()]));
  const reported = new Map<Problem, Millis>();
  return {
    report(problem: Problem, subject: string, level: 'error' | 'warn' | 'info', fields: Fields, text: string): void {
      affected.get(problem)?.add(subject);
      reported.set(problem, now());
      report(level, problem, fields, text);
    },
    /** The API server has done what was asked for that subject; `but` is still a problem. */
    well(subject: string, but?: Problem): void {
      for (const [problem, subjects] of affected) if (problem !== but) subjects.delete(subject);
    },
    has: (problem: Problem, subject: string): boolean => affected.get(problem)?.has(subject) ?? false,
    /** It was reported, and not as over. */
    isOpen: (problem: Problem): boolean => reported.has(problem),
    isThere: (problem: Problem): boolean => (affected.get(problem)?.size ?? 0) > 0,
    /** Logs the ends of problems that are over. */
    settle(this: void): void {
      for (const [problem, at] of reported) {
        if ((affected.get(problem)?.size ?? 0) > 0 || now() - at < quietFor) continue;
        reported.delete(problem);
        resolve(problem, endings[problem]);
      }
    },
  };
}
